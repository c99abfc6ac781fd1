// The options of curl that the pages of docs/recipes use, for machines without the program. For recipe-cases.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { send } from './send.ts';

/** Runs a call in its words, without `curl`. @returns what the program prints. @throws {Error} for other options. */
export async function curl(words: readonly string[], folder: string): Promise<string> {
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let body: string | Uint8Array | undefined;
  let url: URL | undefined;
  let jar: string | undefined;
  let isWithHead = false;
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-')) url = new URL(`http://${word}`);
    else if (word === '-i') isWithHead = true;
    else {
      const value = rest.shift() ?? '';
      if (word === '-X') method = value;
      else if (word === '-H') {
        const [, name, text] = /^([\w-]+): (.*)$/.exec(value)!;
        headers[name!] = text!;
      } else if (word === '-d') {
        body = value;
        headers['content-type'] ??= 'application/x-www-form-urlencoded';
      } else if (word === '-F') {
        const form = await formOf(value, folder);
        headers['content-type'] = form.type;
        body = form.body;
      } else if (word === '-b') headers['cookie'] = readFileSync(path.join(folder, value), 'utf8');
      else if (word === '-c') jar = path.join(folder, value);
      else throw new Error(`curl of tests has no ${word}`);
    }
  }
  const { host, pathname, port, search } = url!;
  const { host: given = host, ...others } = headers;
  const chosen = method ?? (body === undefined ? 'GET' : 'POST');
  const response = await send(Number(port), given, pathname + search, {
    method: chosen,
    headers: others,
    ...(body !== undefined && { body }),
  });
  const cookies = [response.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]!);
  if (jar !== undefined && cookies.length > 0) writeFileSync(jar, cookies.join('; '));
  if (!isWithHead) return response.text;
  const lines = Object.entries(response.headers).map(([name, value]) => `${name}: ${String(value)}`);
  return `HTTP/1.1 ${response.status} ${reasons[response.status]}\n${lines.join('\n')}\n\n${response.text}`;
}

const reasons: Readonly<Record<number, string>> = { 200: 'OK', 204: 'No Content', 429: 'Too Many Requests' };

/** `name=@file;type=text/plain` as a form. */
async function formOf(field: string, folder: string): Promise<{ type: string; body: Uint8Array }> {
  const [, name, file, type] = /^(\w+)=@([\w.]+);type=(\S+)$/.exec(field)!;
  const form = new FormData();
  form.set(name!, new File([readFileSync(path.join(folder, file!))], file!, { type: type! }));
  const encoded = new Response(form);
  return { type: encoded.headers.get('content-type')!, body: new Uint8Array(await encoded.arrayBuffer()) };
}
