/** The session of this browser: kept by each tab, and handed to new tabs. */

const KEY = "reprieve.session";
const PATIENCE_MS = 300;

type Message = { readonly kind: "ask" } | { readonly kind: "session"; readonly session: string };

/** What a tab needs to hand its session on. Others of the same origin and path get it, and nobody else. */
export interface Channel {
  postMessage(message: Message): void;
  onmessage: ((event: MessageEvent<Message>) => unknown) | null;
}

export class Handing {
  private readonly store: Storage;
  private readonly channel: Channel;
  private asked: ((session: string) => void) | null = null;

  constructor(store: Storage, channel: Channel) {
    this.store = store;
    this.channel = channel;
    channel.onmessage = (event) => this.heard(event.data);
  }

  /** The session of this tab; empty if it has none. */
  get session(): string {
    return this.store.getItem(KEY) ?? "";
  }

  keep(session: string): void {
    this.store.setItem(KEY, session);
  }

  drop(): void {
    this.store.removeItem(KEY);
  }

  /** The session of this tab, or of another one; empty if no tab has one. */
  async find(): Promise<string> {
    if (this.session !== "") return this.session;
    const found = new Promise<string>((resolve) => {
      this.asked = resolve;
      setTimeout(() => resolve(""), PATIENCE_MS);
    });
    this.channel.postMessage({ kind: "ask" });
    const session = await found;
    this.asked = null;
    if (session !== "") this.keep(session);
    return session;
  }

  private heard(message: Message): void {
    if (message.kind === "session") this.asked?.(message.session);
    else if (this.session !== "") this.channel.postMessage({ kind: "session", session: this.session });
  }
}
