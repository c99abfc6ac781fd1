// Asks the API that the page came from. Shapes are those of runtime/dev/dashboard; docs/dev-dashboard.md lists the
// routes.

/** Path of a route: what stands in `${}` becomes one segment, whatever it holds. */
export function path(parts: TemplateStringsArray, ...values: readonly unknown[]): string {
  return String.raw({ raw: parts }, ...values.map((value) => encodeURIComponent(String(value))));
}

/** @throws {Error} with the words of the API. */
export async function get<Answer>(route: string): Promise<Answer> {
  return answerOf(await fetch(route)) as Promise<Answer>;
}

/** Sends JSON. @throws {Error} with the words of the API. */
export async function send<Answer = unknown>(
  method: 'POST' | 'PUT' | 'DELETE',
  route: string,
  body?: unknown,
): Promise<Answer> {
  const options =
    body === undefined
      ? { method }
      : { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  return answerOf(await fetch(route, options)) as Promise<Answer>;
}

/** Sends a file as it is. */
export async function upload(route: string, file: File): Promise<void> {
  const headers = file.type === '' ? undefined : { 'content-type': file.type };
  await answerOf(await fetch(route, { method: 'PUT', body: file, ...(headers && { headers }) }));
}

async function answerOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await response.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`The API answered ${response.status} without JSON`);
  }
  if (!response.ok) throw new Error((value as { error?: string }).error ?? `The API answered ${response.status}`);
  return value;
}

/** Reads a field that holds JSON. @throws {Error} that says which. */
export function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${what} is no JSON: ${(error as Error).message}`, { cause: error });
  }
}
