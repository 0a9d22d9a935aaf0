/** Server-sent events, read from text as it comes (HTML Living Standard, 9.2.6). */

export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

export class EventLines {
  private rest = "";
  private event = "";
  private id = "";
  private data: string[] = [];

  /** The events that end in this piece of the stream. */
  push(piece: string): StreamEvent[] {
    const found: StreamEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") found.push(...this.dispatch());
      else this.field(line);
    }
    return found;
  }

  private dispatch(): StreamEvent[] {
    const { event, id, data } = this;
    this.event = "";
    this.data = [];
    return data.length === 0 ? [] : [{ event: event || "message", id, data: data.join("\n") }];
  }

  private field(line: string): void {
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "event") this.event = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id" && !value.includes("\0")) this.id = value;
  }
}
