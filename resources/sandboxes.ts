// Sandboxes of a project, from outside a worker: list, call, suspend, delete. The sandbox validates the arguments of a
// call. Responses of its agent are streamed without parsing: they are untrusted and of any size.
import type { Readable } from 'node:stream';
import Type from '#core/typebox/typebox.mjs';
import type { SandboxInfo as Info } from '#core/sandbox/operations.ts';
import { MACHINE_SIZES } from '#core/sandbox/options.ts';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  branchQuery,
  Done,
  NullableNumber,
  NullableText,
  reads,
  writes,
  type ResourceAccess,
  type ResourceState,
} from './access.ts';
import { withoutSilence } from './event-silence.ts';
import { toJson } from './sandbox-calls.ts';
import { ask, end, jsonOf, Moment, ofBinding, ofOne, page, Sandbox, SandboxOptions } from './sandbox-asking.ts';
import { sandboxCopies } from './sandbox-copies.ts';
import { sandboxPorts } from './sandbox-ports.ts';
import { sandboxTerminals } from './sandbox-terminals.ts';
import { toAttachment, toWebStream } from './streamed.ts';

/** The agent's own limit, plus JSON overhead. */
const ARGUMENTS_BODY_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum size of a written file; the disk of a sandbox is smaller. */
const FILE_BYTES_MAX = 5 * 1024 * 1024 * 1024;
const PATH_CHARS_MAX = 4096;

const Process = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' });
const ofProcess = Type.Object({ id: Type.String(), binding: BindingName, sandbox: Sandbox, process: Process });
const FilePath = Type.String({
  minLength: 1,
  maxLength: PATH_CHARS_MAX,
  description: 'Absolute, or relative to /workspace',
});

const SandboxInfo = Type.Object({
  id: Type.String(),
  state: Type.Enum(['creating', 'running', 'suspended', 'stopped', 'error']),
  provider: Type.String(),
  machine: NullableText,
  image: NullableText,
  egress: Type.Union([Type.Object({ mode: Type.String(), allow: Type.Array(Type.String()) }), Type.Null()]),
  ai: Type.Union([Type.Boolean(), Type.Null()]),
  createdAt: Moment,
  lastActiveAt: Moment,
});
const Command = Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })], {
  description: 'A shell command line, or a program with its arguments',
});
const Variables = Type.Record(Type.String(), Type.String());
const started = {
  command: Command,
  cwd: Type.Optional(FilePath),
  env: Type.Optional(Variables),
  options: Type.Optional(SandboxOptions),
};
const ExecArguments = Type.Object({
  ...started,
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, description: 'Default 60,000, maximum 600,000' })),
  stdin: Type.Optional(
    Type.Union([Type.Object({ text: Type.String() }), Type.Object({ base64: Type.String() })], {
      description: 'Standard input, at most 1 MiB',
    }),
  ),
});
const ExecResult = Type.Object({
  stdout: Type.String(),
  stderr: Type.String(),
  exitCode: Type.Integer(),
  success: Type.Boolean(),
  durationMs: Type.Number(),
  truncated: Type.Boolean(),
  timedOut: Type.Boolean(),
});
const SandboxProcess = Type.Object({
  id: Type.String(),
  pid: Type.Integer(),
  command: Type.String(),
  status: Type.Enum(['running', 'completed', 'failed']),
  exitCode: NullableNumber,
  startedAt: Moment,
});
const SandboxFile = Type.Object({
  name: Type.String(),
  path: Type.String(),
  type: Type.Enum(['file', 'directory', 'symlink', 'other']),
  size: Type.Optional(Type.Number()),
});

export const sandboxes = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/sandboxes/:binding',
    {
      ...reads,
      summary: 'List the sandboxes of a binding, by id',
      params: ofBinding,
      query: page,
      response: Type.Object({ items: Type.Array(SandboxInfo), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { prefix = '', cursor = '', limit = 100 } = ctx.query;
      const answer = await ask(ctx, { operation: 'list', args: { prefix, cursor, limit } });
      const { items, cursor: next } = (await toJson(answer)) as { items: Info[]; cursor: string | null };
      return { items, nextCursor: next };
    },
  )
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox',
    { ...reads, summary: 'Read a sandbox', params: ofOne, query: branchOnly, response: SandboxInfo },
    async (ctx) => {
      const { sandbox } = ctx.params;
      const info = (await toJson(await ask(ctx, { operation: 'info', sandbox }))) as Info | null;
      if (info === null) throw ctx.state.resources.refuse('not_found', `No such sandbox: ${sandbox}`);
      return info;
    },
  )
  .put(
    '/projects/:id/sandboxes/:binding/:sandbox',
    {
      ...writes,
      summary: 'Create a sandbox, or recreate its machine with new options; its files are kept',
      description:
        'Works like `get(id, options)` of the binding and a first call: omitted options are unchanged, null restores the default of the operator. It runs afterwards.',
      params: ofOne,
      query: branchOnly,
      body: SandboxOptions,
      response: Done,
    },
    async (ctx) => {
      return end(await ask(ctx, { operation: 'resume', sandbox: ctx.params.sandbox, options: ctx.body }));
    },
  )
  .delete(
    '/projects/:id/sandboxes/:binding/:sandbox',
    {
      ...writes,
      summary: 'Destroy a sandbox and everything in it',
      params: ofOne,
      query: branchOnly,
      response: Done,
    },
    async (ctx) => end(await ask(ctx, { operation: 'destroy', sandbox: ctx.params.sandbox })),
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/suspend',
    { ...writes, summary: 'Suspend a sandbox', params: ofOne, query: branchOnly, response: Done },
    async (ctx) => end(await ask(ctx, { operation: 'suspend', sandbox: ctx.params.sandbox })),
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/resume',
    {
      ...writes,
      summary: 'Resume or create a sandbox; with another size, its machine is recreated with the same files',
      params: ofOne,
      query: Type.Object({ ...branchQuery, machine: Type.Optional(Type.Enum([...MACHINE_SIZES])) }),
      response: Done,
    },
    async (ctx) => {
      const { machine } = ctx.query;
      const options = machine === undefined ? undefined : { machine };
      return end(await ask(ctx, { operation: 'resume', sandbox: ctx.params.sandbox, options }));
    },
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/exec',
    {
      ...writes,
      summary:
        'Run a command and wait for it; with Accept: text/event-stream, its output is streamed as server-sent events',
      description:
        'A command that fails is not an error of the request. The command is killed after timeoutMs, or when the request ends. Events are JSON with a `type`: `start`, `stdout` and `stderr` (`data`), and finally `complete` (`exitCode`, `success`, `timedOut`, `durationMs`); a stream without `complete` was interrupted.',
      params: ofOne,
      query: branchOnly,
      body: ExecArguments,
      bodyLimit: ARGUMENTS_BODY_BYTES_MAX,
      response: ExecResult,
    },
    async (ctx) => {
      const { sandbox } = ctx.params;
      const isStream = /\btext\/event-stream\b/.test(ctx.req.headers.get('accept') ?? '');
      const operation = isStream ? 'execStream' : 'exec';
      const { options, ...args } = ctx.body;
      const answer = await ask(ctx, { operation, sandbox, args, options });
      return isStream ? eventsOf(answer) : jsonOf(answer);
    },
  )
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox/files',
    {
      ...reads,
      summary: 'List the files of a folder, sorted by path, at most 10,000',
      params: ofOne,
      query: Type.Object({
        ...branchQuery,
        path: Type.Optional(FilePath),
        recursive: Type.Optional(Type.Boolean()),
        includeHidden: Type.Optional(Type.Boolean()),
      }),
      response: Type.Object({ items: Type.Array(SandboxFile) }),
    },
    async (ctx) => {
      const { path = '.', recursive, includeHidden } = ctx.query;
      const args = { path, recursive, includeHidden };
      return jsonOf(await ask(ctx, { operation: 'listFiles', sandbox: ctx.params.sandbox, args }), 'items');
    },
  )
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox/files/content',
    { ...reads, summary: 'Read a file', params: ofOne, query: Type.Object({ ...branchQuery, path: FilePath }) },
    async (ctx) => {
      const { path } = ctx.query;
      const answer = await ask(ctx, { operation: 'readFile', sandbox: ctx.params.sandbox, args: { path } });
      return new Response(toWebStream(answer), { headers: toAttachment(path) });
    },
  )
  .put(
    '/projects/:id/sandboxes/:binding/:sandbox/files/content',
    {
      ...writes,
      summary: 'Write a file; the body is its bytes. Missing folders are created; the write is atomic',
      params: ofOne,
      query: Type.Object({
        ...branchQuery,
        path: FilePath,
        mode: Type.Optional(Type.Integer({ minimum: 0, maximum: 0o777, description: 'Permissions, such as 493' })),
      }),
      response: Done,
    },
    async (ctx) => {
      const { path, mode } = ctx.query;
      const bytes = bounded(ctx.req.body ?? [], ctx.state.resources);
      return end(await ask(ctx, { operation: 'writeFile', sandbox: ctx.params.sandbox, args: { path, mode }, bytes }));
    },
  )
  .delete(
    '/projects/:id/sandboxes/:binding/:sandbox/files/content',
    {
      ...writes,
      summary: 'Delete a file, or with `recursive` a folder',
      params: ofOne,
      query: Type.Object({ ...branchQuery, path: FilePath, recursive: Type.Optional(Type.Boolean()) }),
      response: Done,
    },
    async (ctx) => {
      const { path, recursive } = ctx.query;
      return end(await ask(ctx, { operation: 'deleteFile', sandbox: ctx.params.sandbox, args: { path, recursive } }));
    },
  )
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox/processes',
    {
      ...reads,
      summary: 'List background processes, including exited ones',
      params: ofOne,
      query: branchOnly,
      response: Type.Object({ items: Type.Array(SandboxProcess) }),
    },
    async (ctx) => jsonOf(await ask(ctx, { operation: 'listProcesses', sandbox: ctx.params.sandbox }), 'items'),
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/processes',
    {
      ...writes,
      summary: 'Start a background process',
      params: ofOne,
      query: branchOnly,
      body: Type.Object({ ...started, processId: Type.Optional(Process) }),
      bodyLimit: ARGUMENTS_BODY_BYTES_MAX,
      response: SandboxProcess,
    },
    async (ctx) => {
      const { options, ...args } = ctx.body;
      const { sandbox } = ctx.params;
      return jsonOf(await ask(ctx, { operation: 'startProcess', sandbox, args, options }));
    },
  )
  .get(
    '/projects/:id/sandboxes/:binding/:sandbox/processes/:process/logs',
    {
      ...reads,
      summary: 'Read the output of a process, or follow it with Accept: text/event-stream',
      description:
        'The response has the last million characters. Events of the stream are JSON with a `type`: `stdout` and `stderr` (`data`), `dropped` (`chars`) for omitted output, and finally `exit` (`exitCode`).',
      params: ofProcess,
      query: branchOnly,
      response: Type.Object({ logs: Type.String(), truncated: Type.Boolean() }),
    },
    async (ctx) => {
      const { sandbox, process: id } = ctx.params;
      const isStream = /\btext\/event-stream\b/.test(ctx.req.headers.get('accept') ?? '');
      const operation = isStream ? 'streamProcessLogs' : 'getProcessLogs';
      const answer = await ask(ctx, { operation, sandbox, args: { id } });
      return isStream ? eventsOf(answer) : jsonOf(answer);
    },
  )
  .delete(
    '/projects/:id/sandboxes/:binding/:sandbox/processes/:process',
    {
      ...writes,
      summary: 'Stop a process and its children, or send it a signal',
      params: ofProcess,
      query: Type.Object({
        ...branchQuery,
        signal: Type.Optional(Type.String({ pattern: '^SIG[A-Z0-9]{2,8}$', description: 'Such as SIGINT' })),
      }),
      response: Done,
    },
    async (ctx) => {
      const { sandbox, process: id } = ctx.params;
      const { signal } = ctx.query;
      return end(await ask(ctx, { operation: 'killProcess', sandbox, args: { id, signal } }));
    },
  )
  .route('/', sandboxCopies)
  .route('/', sandboxPorts)
  .route('/', sandboxTerminals);

function eventsOf(answer: Readable): never {
  return new Response(toWebStream(withoutSilence(answer)), {
    headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  }) as never;
}

async function* bounded(
  body: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  { refuse }: ResourceAccess,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > FILE_BYTES_MAX) throw refuse('payload_too_large', String(FILE_BYTES_MAX));
    yield chunk;
  }
}
