// Which calls of sandboxes work over which machines, asked over the service's routes as the binding asks: each has to
// be what the table of docs/sandbox-conformance.md says. Run over every backend by a file of its own.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import {
  ARGUMENTS_HEADER,
  agentOperations,
  serviceOperations,
  type AgentOperation,
  type ServiceOperation,
} from '#core/sandbox/operations.ts';
import { OPTIONS_HEADER, type SandboxOptionsChange } from '#core/sandbox/options.ts';
import { TERMINAL_FRAME, terminalFrame } from '#core/sandbox/terminal-frames.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';
import type { OfferedCase } from './sandbox.ts';
import type { Offers } from './sandbox-options.ts';

const COLUMNS = ['Docker', 'podman', 'hosted provider', 'local processes'] as const;
type Column = (typeof COLUMNS)[number];

/** What is asked besides operations. */
type Further = 'list' | 'listSnapshots' | 'get: machine' | 'get: image' | 'get: egress' | 'get: snapshot';
type Call = AgentOperation | ServiceOperation | Further;
type Word = 'yes' | 'refused' | 'ignored';

interface Asked {
  readonly args?: object;
  readonly body?: string | Buffer<ArrayBuffer>;
  readonly options?: SandboxOptionsChange;
  readonly id?: string;
}

interface Probed {
  /** The answer as JSON, or as text where it is none. @throws its error, with `code`. */
  ask(operation: AgentOperation | ServiceOperation, asked?: Asked): Promise<unknown>;
  get(search: string): Promise<unknown>;
  readonly offers: Offers;
}

type Probe = (box: Probed) => Promise<Word | void>;
const stdoutOf = (answer: unknown): string => (answer as { stdout: string }).stdout;
/** Sandboxes that are processes of this machine share its ports with other tests. */
const PORT = await freePort();
const SERVER = `require('http').createServer((q, s) => s.end('served')).listen(${PORT}, '127.0.0.1', () => console.log('up'))`;

/** In their order, over one sandbox. */
const probes: Readonly<Record<Call, Probe>> = {
  exec: async ({ ask }) => assert.equal(stdoutOf(await ask('exec', { args: { command: 'echo $((6*7))' } })), '42\n'),
  execStream: async ({ ask }) =>
    assert.match(String(await ask('execStream', { args: { command: 'echo hi' } })), /"stdout","data":"hi\\n"/),
  writeFile: async ({ ask }) => void (await ask('writeFile', { args: { path: 'a/file' }, body: 'text' })),
  readFile: async ({ ask }) => assert.equal(await ask('readFile', { args: { path: 'a/file' } }), 'text'),
  exists: async ({ ask }) => assert.deepEqual(await ask('exists', { args: { path: 'a/file' } }), { exists: true }),
  mkdir: async ({ ask }) => void (await ask('mkdir', { args: { path: 'b' } })),
  moveFile: async ({ ask }) => void (await ask('moveFile', { args: { from: 'a/file', to: 'b/file' } })),
  listFiles: async ({ ask }) =>
    assert.deepEqual(
      ((await ask('listFiles', { args: { path: 'b' } })) as { name: string }[]).map(({ name }) => name),
      ['file'],
    ),
  deleteFile: async ({ ask }) => void (await ask('deleteFile', { args: { path: 'b', recursive: true } })),
  watch: async ({ ask }) => assert.match(String(await ask('watch', { args: { path: '.' } })), /"watching"/),
  setEnvVars: async ({ ask }) => {
    await ask('setEnvVars', { args: { variables: { SET: 'yes' } } });
    assert.equal(stdoutOf(await ask('exec', { args: { command: 'echo $SET' } })), 'yes\n');
  },
  gitCheckout: async ({ ask }) => {
    const make =
      'git init -q -b main origin && cd origin && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && pwd';
    const at = stdoutOf(await ask('exec', { args: { command: make } })).trim();
    await ask('gitCheckout', { args: { url: `file://${at}`, targetDir: 'clone' } });
  },
  startProcess: async ({ ask }) =>
    void (await ask('startProcess', { args: { command: 'echo begun; exec sleep 4720', processId: 'probe' } })),
  listProcesses: async ({ ask }) => assert.equal(((await ask('listProcesses')) as object[]).length, 1),
  getProcess: async ({ ask }) =>
    assert.equal(((await ask('getProcess', { args: { id: 'probe' } })) as { id: string }).id, 'probe'),
  streamProcessLogs: async ({ ask }) =>
    assert.match(String(await ask('streamProcessLogs', { args: { id: 'probe' } })), /begun/),
  getProcessLogs: async ({ ask }) =>
    assert.equal(((await ask('getProcessLogs', { args: { id: 'probe' } })) as { logs: string }).logs, 'begun\n'),
  killProcess: async ({ ask }) => void (await ask('killProcess', { args: { id: 'probe' } })),
  waitForPort: async ({ ask }) => {
    // Node itself: where containers have none, the platform's.
    const node = 'PATH=$PATH:/opt/platform-sandbox exec node -e "$0"';
    await ask('startProcess', { args: { command: ['sh', '-c', node, SERVER], processId: 'web' } });
    await ask('waitForPort', { args: { port: PORT, timeoutMs: 60_000 } });
  },
  fetch: async ({ ask }) => {
    const args = { port: PORT, method: 'GET', path: '/', headers: [] };
    assert.equal(await ask('fetch', { args }), 'served');
  },
  connect: async ({ ask }) => {
    const asked = { args: { port: PORT }, body: 'GET / HTTP/1.0\r\n\r\n' };
    assert.match(String(await ask('connect', asked)), /^HTTP\/1\.1 200 [^]*served$/);
  },
  terminal: async ({ ask }) => {
    const size = terminalFrame(TERMINAL_FRAME.size, { cols: 132, rows: 50 });
    const typed = terminalFrame(TERMINAL_FRAME.bytes, Buffer.from('typed\n'));
    const asked = { args: { command: 'read line; stty size; echo "<$line>"' }, body: Buffer.concat([size, typed]) };
    assert.match(String(await ask('terminal', asked)), /50 132\r\n[^]*<typed>\r\n[^]*\{"exitCode":0\}$/);
  },
  info: async ({ ask }) => assert.equal(((await ask('info')) as { state: string }).state, 'running'),
  list: async ({ get }) => assert.equal(((await get('')) as { items: object[] }).items.length, 1),
  suspend: async ({ ask }) => {
    await ask('suspend');
    assert.equal(((await ask('info')) as { state: string }).state, 'suspended');
  },
  resume: async ({ ask }) => {
    await ask('resume');
    assert.equal(stdoutOf(await ask('exec', { args: { command: 'echo $SET' } })), 'yes\n');
  },
  'get: machine': async ({ ask, offers }) => {
    await ask('writeFile', { args: { path: 'kept' }, body: 'here' });
    await ask('resume', { options: { machine: 'small' } });
    assert.equal(await ask('readFile', { args: { path: 'kept' } }), 'here');
    return offers.sizes === null ? 'ignored' : 'yes';
  },
  'get: image': async ({ ask, offers: { image } }) => {
    const isListed = image !== null && !(image instanceof RegExp);
    await ask('resume', { options: { image: isListed ? image.name : 'tools:3' } });
    if (!isListed) return 'ignored';
    assert.deepEqual(await ask('exists', { args: { path: image.mark } }), { exists: true });
    return 'yes';
  },
  'get: egress': async ({ ask, offers }) => {
    await ask('resume', { options: { egress: { mode: 'none', allow: [] } } });
    if (offers.egress === null) return 'ignored';
    assert.match(
      stdoutOf(await ask('exec', { args: { command: 'curl -s http://a.invalid/' } })),
      /^EACCES this sandbox may reach nothing/,
    );
    return 'yes';
  },
  stop: async ({ ask }) => {
    await ask('stop');
    assert.equal(((await ask('info')) as { state: string }).state, 'stopped');
  },
  snapshot: async ({ ask }) =>
    assert.equal(((await ask('snapshot', { args: { id: 'base' } })) as { of: string }).of, 'probed'),
  listSnapshots: async ({ get, offers }) => {
    const { items } = (await get('?snapshots=1')) as { items: object[] };
    assert.equal(items.length, offers.copies === true ? 1 : 0);
  },
  'get: snapshot': async ({ ask }) => {
    const asked = { id: 'begun', options: { snapshot: 'base' } };
    assert.equal(await ask('readFile', { ...asked, args: { path: 'kept' } }), 'here');
  },
  fork: async ({ ask }) => {
    await ask('fork', { args: { id: 'forked' } });
    assert.equal(await ask('readFile', { id: 'forked', args: { path: 'kept' } }), 'here');
  },
  deleteSnapshot: async ({ ask, offers, get }) => {
    if (offers.copies !== true) return 'refused';
    await ask('deleteSnapshot', { id: 'base' });
    assert.deepEqual(((await get('?snapshots=1')) as { items: object[] }).items, []);
  },
  destroy: async ({ ask }) => {
    for (const id of ['probed', 'begun', 'forked']) await ask('destroy', { id });
    assert.equal(await ask('info'), null);
  },
};

/** The table as the documentation has it. */
function documented(): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const lines = readFileSync(path.join(root, 'docs/sandbox-conformance.md'), 'utf8').split('\n');
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', ''));
  const rows = lines.filter((line) => line.startsWith('|')).map(cells);
  const [head, , ...body] = rows;
  return new Map(
    body.map(([call, ...words]) => [call!, Object.fromEntries(words.map((word, at) => [head![at + 1]!, word]))]),
  );
}

/** Checks that the table has what there is: every operation of the service, every kind of machine. */
export function testConformanceTable(): void {
  it('the table of sandboxes has each call once, and each kind of machine', () => {
    const table = documented();
    assert.deepEqual([...table.keys()].toSorted(), Object.keys(probes).toSorted());
    for (const operation of Object.keys({ ...agentOperations, ...serviceOperations })) assert.ok(table.has(operation));
    for (const words of table.values()) assert.deepEqual(Object.keys(words), [...COLUMNS]);
  });
}

/** Asks each call over machines of a kind, and prints what came. */
export function testConformance(column: Column, open: () => Promise<OfferedCase>): void {
  describe(`calls of sandboxes over ${column}`, { concurrency: false }, () => {
    let opened: OfferedCase;
    let service: TestSandboxService;
    let box: Probed;
    const seen: string[] = [];

    before(async () => {
      opened = await open();
      // Whoever opened it closes it.
      service = await startTestSandboxService({ ...opened.backend, close: async () => {} });
      box = probedOf(service, opened.offers);
    });
    after(async () => {
      await service.close();
      await opened.close();
      process.stdout.write(`${column}: ${seen.join(', ')}\n`);
    });

    for (const [call, probe] of Object.entries(probes))
      it(`${call} is as the table says`, async () => {
        const word = await probe(box).then(
          (said) => said ?? 'yes',
          (error: unknown) => {
            const { code } = error as { code?: unknown };
            if (code !== 'sandbox_option_refused' && code !== 'sandbox_copy_refused') throw error;
            return 'refused';
          },
        );
        seen.push(`${call} ${word}`);
        assert.equal(word, documented().get(call)?.[column]);
      });
  });
}

function probedOf({ address: { url, token } }: TestSandboxService, offers: Offers): Probed {
  const base = `${url}/v1/projects/shop/sandboxes/boxes`;
  const authorization = `Bearer ${token}`;
  const read = async (answer: Response): Promise<unknown> => {
    const text = await textOf(answer);
    if (answer.ok) return answer.headers.get('content-type') === 'application/json' ? JSON.parse(text) : text;
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    throw Object.assign(new Error(error.message), { code: error.code });
  };
  return {
    offers,
    get: async (search) => read(await fetch(base + search, { headers: { authorization } })),
    async ask(operation, { args = {}, body, options, id = 'probed' } = {}) {
      const { body: shape } = { ...agentOperations, ...serviceOperations }[operation];
      const isRaw = shape === 'raw';
      const encoded = encodeURIComponent(JSON.stringify(args));
      return read(
        await fetch(`${base}/${id}/${operation}`, {
          method: 'POST',
          headers: {
            authorization,
            ...(isRaw && { [ARGUMENTS_HEADER]: encoded }),
            ...(options && { [OPTIONS_HEADER]: encodeURIComponent(JSON.stringify(options)) }),
          },
          body: isRaw ? (body ?? '') : JSON.stringify(args),
        }),
      );
    },
  };
}

/** Of events without an end, those that are there at first. */
async function textOf(answer: Response): Promise<string> {
  if (answer.headers.get('content-type') !== 'text/event-stream') return answer.text();
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/"(?:watching|stdout|complete)"/.test(text)) break;
  }
  return text;
}
