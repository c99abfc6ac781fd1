// Validates the arguments of operations on a sandbox, with an error that names the wrong argument, its value and valid
// values. Called by the agent. Pure.
import { PlatformError } from '../errors.ts';
import { SANDBOX_LIMITS } from './call-limits.ts';

export type Fields = Readonly<Record<string, unknown>>;

const { commandCharsMax, commandMs, commandMsMax, pathBytesMax, stdinBytesMax, variableBytesMax, variablesMax } =
  SANDBOX_LIMITS;

/** A command to run, and its options. */
export interface CommandArguments {
  /** The shell runs a text; a list is a program with its arguments. */
  readonly command: string | readonly string[];
  /** The path as given; null means the workspace. */
  readonly cwd: string | null;
  readonly variables: Readonly<Record<string, string>>;
}

function invalid(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}

/** A text without NUL, which operating systems do not accept. */
function toText(value: unknown, what: string, charsMax: number): string {
  if (typeof value !== 'string') throw invalid(`${what} must be a string, but is ${kindOf(value)}`);
  if (value === '') throw invalid(`${what} must not be empty`);
  if (value.length > charsMax) throw invalid(`${what} has ${value.length} characters, and may have ${charsMax}`);
  if (value.includes('\0')) throw invalid(`${what} must not contain NUL`);
  return value;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}

export function toFields(value: unknown): Fields {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`The arguments must be an object, but are ${kindOf(value)}`);
  return value as Fields;
}

export function toCommandArguments({ command, cwd, env }: Fields): CommandArguments {
  return {
    command: toCommand(command),
    cwd: cwd === undefined || cwd === null ? null : toPath(cwd, 'cwd'),
    variables: env === undefined || env === null ? {} : toVariables(env),
  };
}

function toCommand(value: unknown): string | readonly string[] {
  if (!Array.isArray(value)) return toText(value, 'The command', commandCharsMax);
  if (value.length === 0) throw invalid('The command must not be an empty list: its first item is the program');
  let chars = 0;
  return value.map((item: unknown, at) => {
    // An argument may be empty, the program may not.
    const text = at > 0 && item === '' ? '' : toText(item, `Item ${at} of the command`, commandCharsMax);
    chars += text.length;
    if (chars > commandCharsMax) throw invalid(`The command has more than ${commandCharsMax} characters`);
    return text;
  });
}

export function toPath(value: unknown, what = 'The path'): string {
  const path = toText(value, what, pathBytesMax);
  if (!path.isWellFormed()) throw invalid(`${what} must be well-formed Unicode`);
  return path;
}

/** Size of a terminal. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export function toTerminalSize({ cols, rows }: Fields): TerminalSize {
  const side = (value: unknown, what: string, otherwise: number): number =>
    toWhole(value, what, { least: 1, most: SANDBOX_LIMITS.terminalSideMax, otherwise });
  return { cols: side(cols, 'cols', 80), rows: side(rows, 'rows', 24) };
}

/** The program in a terminal; if `command` is null, a login shell. */
interface TerminalArguments extends Omit<CommandArguments, 'command'> {
  readonly command: CommandArguments['command'] | null;
  readonly size: TerminalSize;
}

export function toTerminalArguments({ command, cwd, env, cols, rows }: Fields): TerminalArguments {
  const isShell = command === undefined || command === null;
  return {
    ...toCommandArguments({ command: isShell ? 'sh' : command, cwd, env }),
    ...(isShell && { command: null }),
    size: toTerminalSize({ cols, rows }),
  };
}

/** Environment variables of commands. */
export function toVariables(value: unknown): Readonly<Record<string, string>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`Variables must be an object with string values, but are ${kindOf(value)}`);
  const entries = Object.entries(value);
  if (entries.length > variablesMax) throw invalid(`There are ${entries.length} variables, and may be ${variablesMax}`);
  let size = 0;
  for (const [name, text] of entries) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw invalid(
        `Variable ${JSON.stringify(name.slice(0, 64))} must have a name of letters, digits and "_" that begins with no digit`,
      );
    // The value may be a secret, so it is not repeated.
    if (typeof text !== 'string')
      throw invalid(`Variable ${name.slice(0, 64)} must be a string, but is ${kindOf(text)}`);
    if (text.includes('\0')) throw invalid(`Variable ${name.slice(0, 64)} must not contain NUL`);
    size += name.length + text.length;
  }
  if (size > variableBytesMax) throw invalid(`The variables have ${size} characters, and may have ${variableBytesMax}`);
  return { ...(value as Record<string, string>) };
}

/** Timeout of a command in milliseconds. */
export function toTimeout(value: unknown): number {
  const limit = toWhole(value, 'timeoutMs', { least: 1, most: Number.MAX_SAFE_INTEGER, otherwise: commandMs });
  if (limit > commandMsMax)
    throw invalid(
      `timeoutMs is ${limit}, and may be ${commandMsMax} (10 minutes): start longer work with startProcess, and wait for its end`,
    );
  return limit;
}

/** Input of a command: `{text}` or `{base64}`. */
export function toInput(value: unknown): Uint8Array | null {
  if (value === undefined || value === null) return null;
  const { text, base64 } = toFields(value);
  if (typeof text !== 'string' && typeof base64 !== 'string') throw invalid('stdin must be a string or bytes');
  const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(base64 as string, 'base64');
  if (bytes.byteLength > stdinBytesMax)
    throw invalid(
      `stdin has ${bytes.byteLength} bytes, and may have ${stdinBytesMax}: write a file, and let the command read it`,
    );
  return bytes;
}

export function toWhole(
  value: unknown,
  what: string,
  bounds: { readonly least: number; readonly most: number; readonly otherwise?: number },
): number {
  if ((value === undefined || value === null) && bounds.otherwise !== undefined) return bounds.otherwise;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < bounds.least || value > bounds.most)
    throw invalid(`${what} must be a whole number from ${bounds.least} to ${bounds.most}`);
  return value;
}

export function toFlag(value: unknown, what: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalid(`${what} must be true or false, but is ${kindOf(value)}`);
  return value;
}

/** The id of a process. */
export function toProcessId(value: unknown): string {
  const id = toText(value, 'The id of a process', 64);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id))
    throw invalid(
      'The id of a process may have letters, digits, ".", "_" and "-", and must begin with a letter or a digit',
    );
  return id;
}

/** The name of a signal; null if none is given. */
export function toSignal(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (
    typeof value !== 'string' ||
    !/^SIG(?:ABRT|ALRM|CONT|HUP|INT|KILL|PIPE|QUIT|STOP|TERM|TSTP|USR1|USR2|WINCH)$/.test(value)
  )
    throw invalid('The signal must have a name such as "SIGTERM", "SIGINT" or "SIGKILL"');
  return value;
}

export function toPort(value: unknown): number {
  return toWhole(value, 'The port', { least: 1, most: 65_535 });
}

/** Arguments of `exposePort`. */
interface ExposeArguments {
  readonly port: number;
  /** Display name of the port, or null. */
  readonly label: string | null;
  /** Whether the port is accessible without a token. */
  readonly isPublic: boolean;
}

export function toExposeArguments({ port, name, auth }: Fields): ExposeArguments {
  if (auth !== undefined && auth !== null && auth !== 'token' && auth !== 'public')
    throw invalid('auth must be "token" or "public"');
  return {
    port: toPort(port),
    label: name === undefined || name === null ? null : toText(name, 'The name of a port', 63),
    isPublic: auth === 'public',
  };
}

/** Arguments of `gitCheckout`. */
interface CheckoutArguments {
  /**
   * The URL of a repository must not have credentials, because it is visible in process lists and in the clone's
   * configuration.
   */
  readonly url: string;
  /** `user:password` of the URL. */
  readonly credentials: string | null;
  readonly branch: string | null;
  readonly depth: number | null;
  readonly folder: string;
}

export function toCheckoutArguments({ url, branch, depth, targetDir }: Fields): CheckoutArguments {
  const target = URL.parse(toText(url, 'The address of the repository', 2048));
  if (target === null || !/^(?:https?|file):$/.test(target.protocol))
    throw invalid('The address of the repository must be a URL that starts with https://');
  const { username, password } = target;
  target.username = '';
  target.password = '';
  const name = /([^/]+?)(?:\.git)?\/*$/.exec(target.pathname)?.[1] ?? 'repository';
  return {
    url: target.href,
    credentials:
      username === '' && password === '' ? null : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
    branch: branch === undefined || branch === null ? null : toBranch(branch),
    depth: depth === undefined || depth === null ? null : toWhole(depth, 'depth', { least: 1, most: 1_000_000 }),
    folder:
      targetDir === undefined || targetDir === null ? toPath(decodeURIComponent(name)) : toPath(targetDir, 'targetDir'),
  };
}

function toBranch(value: unknown): string {
  const branch = toText(value, 'The branch', 255);
  // A leading hyphen would make it an option of git.
  if (!/^[^-\s~^:?*[\\][^\s~^:?*[\\]*$/.test(branch)) throw invalid('The branch is not a valid name in git');
  return branch;
}

/** The request for a server in the sandbox. */
interface PortRequest {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Length of the request's body; null if unknown. */
  readonly bodyBytes: number | null;
}

/** Hop-by-hop headers: every connection has its own. */
const HOP_HEADERS = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length)$/;

export function toPortRequest({ port, method, path, headers, bodyBytes }: Fields): PortRequest {
  if (typeof method !== 'string' || !/^[A-Z]{1,20}$/.test(method) || method === 'CONNECT')
    throw invalid('The method must be an HTTP method, such as GET');
  if (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path)) throw invalid('The path must begin with "/"');
  if (!Array.isArray(headers)) throw invalid('The headers must be a list of pairs');
  const pairs: [string, string][] = [];
  for (const pair of headers as unknown[]) {
    const [name, value] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof name !== 'string' || typeof value !== 'string' || !/^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/i.test(name))
      throw invalid('The headers must be pairs of texts');
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw invalid(`The header ${name} has characters that none may have`);
    if (!HOP_HEADERS.test(name.toLowerCase())) pairs.push([name, value]);
  }
  const most = Number.MAX_SAFE_INTEGER;
  const bytes =
    bodyBytes === undefined || bodyBytes === null ? null : toWhole(bodyBytes, 'bodyBytes', { least: 0, most });
  return { port: toPort(port), method, path, headers: pairs, bodyBytes: bytes };
}
