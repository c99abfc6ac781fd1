// Headers of route rules for static files: the worker, which sets them for other responses, does not run for files.
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Appends the headers of `routeRules` to the project's own `_headers`. */
export async function writeRules({ baseURL, routeRules, output }) {
  const text = headersOf(baseURL, routeRules);
  if (text === '') return;
  const folder = output.publicDir.slice(0, output.publicDir.length - baseURL.replace(/\/$/, '').length);
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, '_headers'), `\n${text}`);
}

/** @returns lines of a `_headers` file, general rules first; later rules replace values of earlier ones. */
export function headersOf(baseURL, routeRules) {
  const base = baseURL.replace(/\/$/, '');
  const seen = new Set();
  return Object.entries(routeRules)
    .filter(([, { headers }]) => headers !== undefined && Object.keys(headers).length > 0)
    .toSorted(([a], [b]) => a.split('/').length - b.split('/').length)
    .map(([path, { headers }]) => {
      const lines = Object.entries(headers).flatMap(([name, value]) => [
        // `! Name` removes the header of an earlier rule. Without it, the values of all matching rules would be joined.
        ...(seen.has(name.toLowerCase()) ? [`  ! ${name}\n`] : []),
        `  ${name}: ${value}\n`,
      ]);
      for (const name of Object.keys(headers)) seen.add(name.toLowerCase());
      return [`${base}${path.replace('/**', '/*')}\n`, ...lines].join('');
    })
    .join('');
}
