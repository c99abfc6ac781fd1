// `platform sandbox shell <id>`: opens a terminal in a sandbox with a shell or a program. On a terminal every key is
// sent as pressed, including Ctrl-C; otherwise standard input is sent, and its end as end of input.
import { defineCommand } from 'citty';
import { openSocket, type ApiSocket } from '../../api/socket.ts';
import { CliError } from '../../terminal/failure.ts';
import { plain } from '../../terminal/plain.ts';
import type { Keys, Shell } from '../../terminal/shell.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import { variablesIn } from './variables.ts';

const INTERRUPTED = 130;
const SIDE_MAX = 1000;
/** The size if there is no terminal. */
const SIZE = { cols: 80, rows: 24 };

export const command = defineCommand({
  meta: { name: 'shell', description: 'Open a terminal in a sandbox; creates the sandbox if it does not exist' },
  args: {
    ...sandboxId,
    command: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description: 'A shell command as one word, or a program and its arguments after -- (default: a login shell)',
    },
    cwd: { type: 'string', valueHint: 'folder', description: 'Working directory (default: /workspace)' },
    'env-file': { type: 'string', valueHint: 'file', description: 'Environment variables, as NAME=value lines' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const words = args._.slice(1);
    const file = args['env-file'];
    const { TERM } = shell.env;
    const env = {
      ...(shell.isTerminal && TERM !== undefined && /^[\w.+-]{1,64}$/.test(TERM) && { TERM }),
      ...(file !== undefined && variablesIn(shell, file)),
    };
    const { api, path: at, query } = await needSandbox(shell, args, 'platform sandbox shell');
    const socket = await openSocket(api, `${at}/terminal`, query);
    const keys = shell.keys();
    let isStopped = false;
    void shell.untilStopped().then(() => {
      isStopped = true;
      socket.close();
    });
    try {
      const start = {
        ...(words.length > 0 && { command: words.length === 1 ? words[0] : words }),
        ...(args.cwd !== undefined && { cwd: args.cwd }),
        env,
        ...sizeOf(keys),
      };
      await socket.send(JSON.stringify({ start }));
      keys.onResize(() => {
        const { cols, rows } = sizeOf(keys);
        void socket.send(JSON.stringify({ resize: [cols, rows] }));
      });
      void type(keys, socket);
      return await exitCodeOf(shell, socket);
    } catch (error) {
      if (isStopped) return INTERRUPTED;
      throw error;
    } finally {
      keys.close();
      socket.close();
    }
  },
});

/** Clamps the window size to the supported range; a minimized window gets the default size. */
function sizeOf(keys: Keys): typeof SIZE {
  const { cols, rows } = keys.size() ?? SIZE;
  const side = (value: number, otherwise: number): number => (value >= 1 ? Math.min(value, SIDE_MAX) : otherwise);
  return { cols: side(cols, SIZE.cols), rows: side(rows, SIZE.rows) };
}

async function type(keys: Keys, socket: ApiSocket): Promise<void> {
  try {
    for await (const bytes of keys.bytes) await socket.send(bytes);
    await socket.send(JSON.stringify({ end: true }));
  } catch {
    // The terminal has ended, and standard input is closed.
  }
}

/** Prints the output and returns the exit code. @throws {CliError} if the connection is lost. */
async function exitCodeOf(shell: Shell, socket: ApiSocket): Promise<number> {
  for await (const { bytes, isBinary } of socket.messages) {
    if (isBinary) {
      await shell.write(bytes);
      continue;
    }
    const { exitCode, error } = toSaid(bytes);
    if (typeof exitCode === 'number' && Number.isInteger(exitCode) && exitCode >= 0 && exitCode <= 255) return exitCode;
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    if (typeof message === 'string')
      throw new CliError(plain(message), { code: typeof code === 'string' ? plain(code) : null });
  }
  throw new CliError('The connection to the terminal was lost', {
    code: 'sandbox_lost',
    advice: 'The program was stopped. Try again.',
  });
}

function toSaid(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString()) as unknown;
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
