// Calls a built app as the platform would, without a platform: for the tests of packages/worker.

/** An app that answers. */
interface App {
  fetch(request: Request, env: never, ctx?: never): Response | Promise<Response>;
}

/** An answer as tests look at it. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

/** Options of a call; `json` is sent as JSON. */
interface CallInit extends RequestInit {
  readonly json?: unknown;
  readonly env?: unknown;
}

/** Asks an app. @param ask `METHOD /path`. */
export async function call(app: App, ask: string, { json, env = {}, ...init }: CallInit = {}): Promise<Answer> {
  const [method, path] = ask.split(' ') as [string, string];
  const headers = new Headers(init.headers);
  if (json !== undefined) headers.set('content-type', 'application/json');
  const sent: RequestInit = { ...init, method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) };
  const response = await app.fetch(new Request(`http://app.localhost${path}`, sent), env as never);
  const text = await response.text();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  return { status: response.status, headers: response.headers, text, json: parsed };
}

/** What `console.error` is given while something runs, in place of the test's output. */
export async function errorsOf(run: () => Promise<void>): Promise<string[]> {
  const lines: string[] = [];
  const original = console.error;
  console.error = (...words: unknown[]) => void lines.push(words.map(String).join(' '));
  try {
    await run();
  } finally {
    console.error = original;
  }
  return lines;
}
