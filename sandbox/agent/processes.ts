// Background processes of a sandbox: they continue after the call that started them, and their most recent output is
// kept. Exited processes are remembered until new processes replace them.
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { toCommandArguments, toInput, toProcessId, toSignal, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import type { Commands, RunningCommand } from './commands.ts';
import { createEventStream } from './event-stream.ts';
import { createOutputLog, type OutputLog } from './output-log.ts';

const { processesMax, logBytesMax } = SANDBOX_LIMITS;
/** Grace period after SIGTERM before SIGKILL. */
const GRACE_MS = 2000;

/** Defined in packages/types/sandbox.d.ts. */
interface ProcessRecord {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly status: 'running' | 'completed' | 'failed';
  readonly exitCode: number | null;
  readonly startedAt: number;
}

interface Kept {
  readonly record: ProcessRecord;
  readonly child: RunningCommand;
  readonly log: OutputLog;
}

interface Processes {
  start(fields: Fields): Promise<ProcessRecord>;
  list(): readonly ProcessRecord[];
  get(fields: Fields): ProcessRecord | null;
  logs(fields: Fields): { readonly logs: string; readonly truncated: boolean };
  stream(fields: Fields, response: ServerResponse): void;
  kill(fields: Fields): Promise<void>;
}

export function createProcesses(commands: Commands): Processes {
  const kept = new Map<string, Kept>();
  const starting = new Set<string>();

  function find(fields: Fields): Kept {
    const id = toProcessId(fields['id']);
    const found = kept.get(id);
    if (found === undefined) throw new PlatformError('process_not_found', { id });
    return found;
  }

  function makeRoom(): void {
    if (kept.size + starting.size < processesMax) return;
    for (const [id, { record }] of kept) {
      if (record.status === 'running') continue;
      kept.delete(id);
      return;
    }
    throw new PlatformError('sandbox_limit', { what: 'Another process', limit: processesMax });
  }

  return {
    async start(fields) {
      const command = toCommandArguments(fields);
      const input = toInput(fields['stdin']);
      const { processId } = fields;
      const id = processId === undefined || processId === null ? randomUUID() : toProcessId(processId);
      if (kept.get(id)?.record.status === 'running' || starting.has(id))
        throw new PlatformError('process_exists', { id });
      makeRoom();
      starting.add(id);
      try {
        const child = await commands.start(command, input);
        const log = createOutputLog(logBytesMax);
        const written = typeof command.command === 'string' ? command.command : command.command.join(' ');
        const record: ProcessRecord = {
          id,
          pid: child.pid,
          command: written,
          status: 'running',
          exitCode: null,
          startedAt: Date.now(),
        };
        // An exited process with this id is replaced.
        kept.delete(id);
        kept.set(id, { record, child, log });
        for (const type of ['stdout', 'stderr'] as const) {
          const decoder = new StringDecoder('utf8');
          child[type].on('data', (chunk: Buffer) => log.add(type, decoder.write(chunk)));
        }
        void child.exited.then((exitCode) => {
          const ended: ProcessRecord = { ...record, status: exitCode === 0 ? 'completed' : 'failed', exitCode };
          if (kept.get(id)?.child === child) kept.set(id, { record: ended, child, log });
          log.end(exitCode);
        });
        return record;
      } finally {
        starting.delete(id);
      }
    },
    list: () => [...kept.values()].map(({ record }) => record),
    get: (fields) => kept.get(toProcessId(fields['id']))?.record ?? null,
    logs(fields) {
      const { log } = find(fields);
      return { logs: log.text(), truncated: log.truncated };
    },
    stream(fields, response) {
      const { log } = find(fields);
      const events = createEventStream(response);
      let at = 0;
      let isBehind = false;
      const pump = (): void => {
        while (!events.closed && !isBehind) {
          const next = log.from(at);
          if (next === null) return;
          at = next.after;
          const more = events.send(next.event);
          if (next.event.type === 'exit') {
            forget();
            events.end();
            return;
          }
          if (more) continue;
          isBehind = true;
          events.drained(() => {
            isBehind = false;
            pump();
          });
        }
      };
      const forget = log.follow(pump);
      events.onGone(forget);
      pump();
    },
    async kill(fields) {
      const signal = toSignal(fields['signal']);
      const { child, record } = find(fields);
      if (record.status !== 'running') return;
      child.kill((signal ?? 'SIGTERM') as NodeJS.Signals);
      if (signal !== null && signal !== 'SIGKILL') return;
      const grace = new AbortController();
      const late = signal === 'SIGKILL' ? Promise.resolve() : pause(GRACE_MS, undefined, grace).catch(() => {});
      void late.then(() => grace.signal.aborted || child.kill('SIGKILL'));
      await child.exited;
      grace.abort();
      // Child processes that outlived the process.
      child.kill('SIGKILL');
    },
  };
}
