import "../style/main.css";
import { render } from "preact";
import { begin } from "./state.ts";
import { App } from "./ui/app.tsx";

begin();
const page = document.getElementById("page");
if (page !== null) {
  page.replaceChildren();
  render(<App />, page);
}
