// `platform api [method] <path>`: calls any operation of the API. Without arguments, the command lists the operations
// from the OpenAPI description.
import { defineCommand } from 'citty';
import type { Api } from '../../account/api.ts';
import { operationsOf } from '../../api/known-paths.ts';
import { failureOf, open, textOf, type Method } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { nearestWord } from '#core/spelling.ts';
import { CliError } from '../../terminal/failure.ts';
import { plain } from '../../terminal/plain.ts';
import { ownLines } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const command = defineCommand({
  meta: { name: 'call', description: 'Call an operation of the API, or list them' },
  args: {
    method: {
      type: 'positional',
      required: false,
      description: `${METHODS.join(', ')} (default: GET, with a body POST)`,
    },
    path: { type: 'positional', required: false, description: 'For example /orgs (default: list all operations)' },
    body: { type: 'string', valueHint: 'json', description: 'Body as JSON; - reads standard input' },
    query: { type: 'string', alias: 'q', valueHint: 'a=b&c=d', description: 'Query string' },
    include: { type: 'boolean', alias: 'i', description: 'Print status and headers too' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON on one line' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const body = await bodyOf(shell, args.body);
    const { method, path } = wanted(args._, body !== undefined);
    const api = await needApi(shell, args, 'platform api');
    if (path === null) return list(shell, api, args.json);
    if (!path.startsWith('/'))
      throw new CliError(`Invalid path "${path}": paths start with /`, {
        exitCode: 2,
        advice: '`platform api` lists all operations.',
      });
    const at =
      args.query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${args.query.replace(/^\?/, '')}`;
    const response = await open(api, method, at, body === undefined ? {} : { body }).catch(async (error: unknown) => {
      throw await explained(shell, api, error, method, path);
    });
    if (args.include === true) {
      shell.out(`HTTP ${response.status}`);
      for (const [name, value] of response.headers) shell.out(plain(`${name}: ${value}`));
      shell.out('');
    }
    if (!(response.headers.get('content-type') ?? '').includes('json')) {
      for await (const part of response.body ?? []) await shell.write(part);
      return;
    }
    const text = await textOf(api, response);
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw await failureOf(api, new Response(text, { status: response.status }));
    }
    const shown = JSON.stringify(value, null, args.json === true || !shell.isTerminal ? undefined : 2);
    shell.out(ownLines(shown));
  },
});

function wanted(words: readonly string[], hasBody: boolean): { method: Method; path: string | null } {
  const [first, second] = words;
  if (first === undefined) return { method: 'GET', path: null };
  const method = first.toUpperCase();
  if (METHODS.includes(method)) {
    if (second === undefined)
      throw new CliError(`${method} needs a path`, {
        exitCode: 2,
        advice: `For example: \`platform api ${method} /orgs\`.`,
      });
    return { method: method as Method, path: second };
  }
  if (second !== undefined) {
    const near = nearestWord(method, METHODS);
    throw new CliError(`Unknown method "${first}"${near === undefined ? '' : `. Did you mean ${near}?`}`, {
      exitCode: 2,
      advice: `Methods: ${METHODS.join(', ')}.`,
    });
  }
  return { method: hasBody ? 'POST' : 'GET', path: first };
}

async function bodyOf(shell: Shell, flag: string | undefined): Promise<unknown> {
  if (flag === undefined) return undefined;
  const text = flag === '-' ? Buffer.from(await shell.input()).toString() : flag;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CliError(`--body is not valid JSON: ${(error as Error).message}`, {
      exitCode: 2,
      advice: `For example: --body '{"name":"shop"}'.`,
    });
  }
}

async function list(shell: Shell, api: Api, json: boolean | undefined): Promise<void> {
  const operations = await operationsOf(shell, api);
  print(shell, json, { operations }, () =>
    printTable(shell, {
      columns: ['method', 'path', 'does'],
      rows: operations.map(({ method, path, summary }) => [method, path, summary]),
      empty: 'The API describes no operations',
    }),
  );
}

/** Adds the nearest path to the "not found" error of an unknown path. */
async function explained(shell: Shell, api: Api, error: unknown, method: string, path: string): Promise<unknown> {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  const operations = await operationsOf(shell, api).catch(() => []);
  const [bare = path] = path.split('?');
  const isKnown = operations.some((one) => one.method === method && fits(one.path, bare));
  if (isKnown || operations.length === 0) return error;
  const near = nearestWord(
    bare,
    operations.map((one) => one.path),
  );
  return new CliError(`The API has no ${method} ${plain(bare)}`, {
    exitCode: 2,
    advice: near === undefined ? '`platform api` lists all operations.' : `Did you mean ${near}?`,
  });
}

function fits(pattern: string, path: string): boolean {
  const wantedParts = pattern.split('/');
  const parts = path.split('/');
  return (
    wantedParts.length === parts.length && wantedParts.every((part, at) => part === parts[at] || part.startsWith('{'))
  );
}
