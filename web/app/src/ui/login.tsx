/** The login: with a token of the API server, or by the address that the command has printed. */

import { useState } from "preact/hooks";
import { logIn } from "../state.ts";
import { Said } from "./text.tsx";
import { useTitle } from "./title.ts";

export function Login({ why }: { readonly why: string }) {
  const title = useTitle("Log in");
  const [token, setToken] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (token.trim() === "") return;
    setBusy(true);
    setToken("");
    await logIn({ token: token.trim() });
    setBusy(false);
  };
  return (
    <main class="login" id="main">
      <h1 ref={title} tabIndex={-1}>
        reprieve
      </h1>
      {why !== "" && !isBusy && (
        <p class="notice bad" role="alert">
          <Said text={why} />
        </p>
      )}
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token of the API server</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellcheck={false}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? "Logging in…" : "Log in"}
        </button>
      </form>
      <p>
        <code>kubectl create token NAME</code> prints a token of a service account. You see what the API server lets
        that token list. The token stays on the server of this page, and this tab keeps a session.
      </p>
      <p>
        If you have started <code>reprieve page</code> on your computer, open the address that it prints. Each address
        works once. Press Enter in its terminal for another one.
      </p>
    </main>
  );
}
