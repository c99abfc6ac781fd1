// `platform sandbox exec <id> <command>`: runs a command in a sandbox, streams its output, and exits with its exit
// code. Ctrl-C stops the command.
import { defineCommand } from 'citty';
import { open } from '../../api/requests.ts';
import { parseEvents } from '../../api/events.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import { optionFlags, optionsOf, snapshotFlag } from './options.ts';
import { variablesIn } from './variables.ts';

/** Result of the command. */
interface Complete {
  readonly exitCode: number;
  readonly success: boolean;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

const SECONDS_MAX = 600;
/** Maximum output with `--json`. */
const OUTPUT_CHARS_MAX = 10 * 1024 * 1024;
/** Exit code after Ctrl-C, as in shells. */
const INTERRUPTED = 130;

export const command = defineCommand({
  meta: { name: 'exec', description: 'Run a command in a sandbox; creates the sandbox if it does not exist' },
  args: {
    ...sandboxId,
    command: {
      type: 'positional',
      required: true,
      valueHint: 'more',
      description: 'A shell command as one word, or a program and its arguments after --',
    },
    cwd: { type: 'string', valueHint: 'folder', description: 'Working directory (default: /workspace)' },
    'env-file': { type: 'string', valueHint: 'file', description: 'Environment variables, as NAME=value lines' },
    timeout: { type: 'string', valueHint: 'seconds', default: '60', description: 'Timeout, at most 600' },
    stdin: { type: 'boolean', description: 'Pass standard input, at most 1 MiB' },
    ...optionFlags,
    ...snapshotFlag,
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const seconds = wholeNumber('platform sandbox exec', '--timeout', args.timeout, 1, SECONDS_MAX);
    const words = args._.slice(1);
    const stdin = args.stdin === true ? await shell.input() : null;
    const options = optionsOf(args);
    const body = {
      command: words.length === 1 ? words[0] : words,
      timeoutMs: seconds * 1000,
      ...(args.cwd !== undefined && { cwd: args.cwd }),
      ...(args['env-file'] !== undefined && { env: variablesIn(shell, args['env-file']) }),
      ...(options !== undefined && { options }),
      ...(stdin !== null && { stdin: { base64: Buffer.from(stdin).toString('base64') } }),
    };
    const { api, path: at, query } = await needSandbox(shell, args, 'platform sandbox exec');
    const gone = new AbortController();
    void shell.untilStopped().then(() => gone.abort());
    try {
      const response = await open(api, 'POST', `${at}/exec`, {
        query,
        body,
        headers: { accept: 'text/event-stream' },
        signal: gone.signal,
      });
      const json = args.json === true;
      const kept = { stdout: '', stderr: '' };
      let complete: Complete | null = null;
      for await (const { text } of parseEvents(response.body ?? new ReadableStream())) {
        const event = toEvent(text);
        const { type } = event;
        if (type === 'complete') complete = toComplete(event);
        if ((type !== 'stdout' && type !== 'stderr') || typeof event['data'] !== 'string') continue;
        if (json) kept[type] = (kept[type] + event['data']).slice(0, OUTPUT_CHARS_MAX);
        else await shell.write(Buffer.from(event['data']), type);
      }
      if (complete === null)
        throw new CliError('The sandbox was lost while the command ran', {
          code: 'sandbox_lost',
          advice: 'The command may have run partially. Try again.',
        });
      if (json) shell.out(JSON.stringify({ ...kept, ...complete }));
      else if (complete.timedOut) shell.err(`The command timed out after ${seconds} s (--timeout)`);
      return complete.exitCode;
    } catch (error) {
      if (gone.signal.aborted) return INTERRUPTED;
      throw error;
    }
  },
});

/** Parses an event; do not trust data from a sandbox. */
function toEvent(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function toComplete({ exitCode, timedOut, durationMs }: Readonly<Record<string, unknown>>): Complete | null {
  if (!Number.isInteger(exitCode) || Number(exitCode) < 0 || Number(exitCode) > 255) return null;
  return {
    exitCode: Number(exitCode),
    success: exitCode === 0,
    timedOut: timedOut === true,
    durationMs: Number(durationMs),
  };
}
