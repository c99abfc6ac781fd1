// Options of a sandbox: machine size, system image and allowed network access. Options are sent with each call, as JSON
// in the header `sandbox-options`, and validated here. Pure.
import { PlatformError } from '../errors.ts';
import { toFields, type Fields } from './arguments.ts';
import { isSandboxId } from './sandbox-id.ts';

/** Limits of a machine size. */
interface MachineLimits {
  readonly processors: number;
  readonly memoryMb: number;
  /** Concurrent processes and threads. */
  readonly tasks: number;
}

/** Available sizes, smallest first. Default: `SANDBOX_MEMORY_MB`, `SANDBOX_CPUS`. */
export const machineSizes = {
  small: { processors: 1, memoryMb: 2048, tasks: 512 },
  default: { processors: 2, memoryMb: 4096, tasks: 1024 },
  large: { processors: 4, memoryMb: 8192, tasks: 2048 },
  xlarge: { processors: 8, memoryMb: 16_384, tasks: 4096 },
} as const satisfies Readonly<Record<string, MachineLimits>>;

export type MachineSize = keyof typeof machineSizes;

export const MACHINE_SIZES = Object.keys(machineSizes) as readonly MachineSize[];

/**
 * Network access of a sandbox, within the operator's limits. `allow` has names; `*.` before a name matches all its
 * subdomains.
 */
export interface EgressChoice {
  readonly mode: 'all' | 'none' | 'allow';
  /** The allowed names for the mode `allow`; otherwise empty. */
  readonly allow: readonly string[];
}

/** Options of a sandbox; null means the operator's default. */
export interface SandboxOptions {
  readonly machine: MachineSize | null;
  readonly image: string | null;
  readonly egress: EgressChoice | null;
  /** Whether commands get a token for the AI gateway; null means that they get one only if there is a gateway. */
  readonly ai: boolean | null;
}

/** Options that are sent with a call: omitted options stay the same, null restores the operator's default. */
export type SandboxOptionsChange = Partial<SandboxOptions> & {
  /** The snapshot from which a new sandbox starts. */
  readonly snapshot?: string | null;
};

/** The options that a row stores; for a snapshot, also the sandbox that was copied, and the size. */
export interface StoredOptions extends SandboxOptions {
  readonly taken?: { readonly of: string; readonly sizeBytes: number };
}

export const NO_OPTIONS: SandboxOptions = { machine: null, image: null, egress: null, ai: null };

/** Header with the options, encoded with `encodeURIComponent`. */
export const OPTIONS_HEADER = 'sandbox-options';
export const OPTIONS_CHARS_MAX = 12 * 1024;

const ALLOWED_MAX = 100;
/** A host name or an address, or `*.` and a name. */
export const HOST_NAME = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
/** In the format of container engines: `registry.example.com:5000/name:tag`, `name@sha256:...`. */
export const IMAGE_NAME = /^[a-z0-9][A-Za-z0-9._:/@-]{0,254}$/;

function invalid(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}

export function isMachineSize(value: unknown): value is MachineSize {
  return typeof value === 'string' && Object.hasOwn(machineSizes, value);
}

/**
 * @param value untrusted.
 * @throws {PlatformError} `invalid_argument` that names the wrong option, and valid values.
 */
export function toOptionsChange(value: unknown): SandboxOptionsChange {
  const fields = toFields(value);
  for (const name of Object.keys(fields))
    if (!Object.hasOwn(readers, name))
      throw invalid(
        `A sandbox has no option ${JSON.stringify(name.slice(0, 64))}: its options are ${Object.keys(readers).join(', ')}`,
      );
  const said = Object.entries(readers).filter(([name]) => fields[name] !== undefined);
  return Object.fromEntries(
    said.map(([name, read]) => [name, fields[name] === null ? null : read(fields[name])]),
  ) as SandboxOptionsChange;
}

const readers = { machine: toMachine, image: toImage, egress: toEgress, ai: toAi, snapshot: toSnapshot };

/** Parses the header, or null. @throws {PlatformError} */
export function optionsChangeIn(header: string | undefined): SandboxOptionsChange | null {
  if (header === undefined) return null;
  if (header.length > OPTIONS_CHARS_MAX)
    throw invalid(`The options of a sandbox have ${header.length} characters, and may have ${OPTIONS_CHARS_MAX}`);
  let value: unknown;
  try {
    value = JSON.parse(decodeURIComponent(header));
  } catch {
    throw invalid(`The header ${OPTIONS_HEADER} must be JSON, through encodeURIComponent`);
  }
  return toOptionsChange(value);
}

export function withChange(options: SandboxOptions, change: SandboxOptionsChange): SandboxOptions {
  const { machine, image, egress, ai } = { ...options, ...change };
  return { machine, image, egress, ai };
}

export function isSameOptions(one: SandboxOptions, other: SandboxOptions): boolean {
  const written = ({ machine, image, egress, ai }: SandboxOptions): string =>
    JSON.stringify([machine, image, egress === null ? null : [egress.mode, egress.allow], ai]);
  return written(one) === written(other);
}

/**
 * Serializes options for a row. `ai` is omitted if it has no value, so that earlier versions find no unknown option.
 */
export function writtenOptions({ ai, ...options }: StoredOptions): string {
  return JSON.stringify(ai === null ? options : { ...options, ai });
}

/** Parses the options of a row; invalid options use the operator's default. */
export function storedOptions(value: unknown): StoredOptions {
  try {
    const { taken, ...options } = toFields(value);
    const stored = withChange(NO_OPTIONS, toOptionsChange(options));
    return taken === undefined ? stored : { ...stored, taken: taken as NonNullable<StoredOptions['taken']> };
  } catch {
    return NO_OPTIONS;
  }
}

function toSnapshot(value: unknown): string {
  if (!isSandboxId(value)) throw invalid(`snapshot must be the id of a snapshot, such as "base-1"${butIs(value)}`);
  return value;
}

function toMachine(value: unknown): MachineSize {
  if (!isMachineSize(value)) throw invalid(`machine must be one of ${MACHINE_SIZES.join(', ')}${butIs(value)}`);
  return value;
}

function toImage(value: unknown): string {
  if (typeof value !== 'string' || !IMAGE_NAME.test(value))
    throw invalid(`image must be the name of an image, such as "registry.example.com/tools:3"${butIs(value)}`);
  return value;
}

function toEgress(value: unknown): EgressChoice {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`egress must be { mode: "all" | "none" | "allow", allow: [...] }${butIs(value)}`);
  const { mode, allow = [], ...others } = value as Fields;
  if (mode !== 'all' && mode !== 'none' && mode !== 'allow')
    throw invalid(`egress.mode must be "all", "none" or "allow"${butIs(mode)}`);
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`egress has no ${JSON.stringify(other.slice(0, 64))}: it accepts mode and allow`);
  if (!Array.isArray(allow)) throw invalid(`egress.allow must be a list of names of hosts${butIs(allow)}`);
  if (mode !== 'allow' && allow.length > 0) throw invalid(`egress.allow goes with the mode "allow", not "${mode}"`);
  if (allow.length > ALLOWED_MAX) throw invalid(`egress.allow has ${allow.length} names, and may have ${ALLOWED_MAX}`);
  return { mode, allow: allow.map(toHost) };
}

function toAi(value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid(`ai must be true or false${butIs(value)}`);
  return value;
}

function toHost(value: unknown): string {
  const name = typeof value === 'string' ? value.toLowerCase() : '';
  if (!HOST_NAME.test(name))
    throw invalid(`egress.allow takes names such as "api.example.com" and "*.example.com"${butIs(value)}`);
  return name;
}

function butIs(value: unknown): string {
  if (typeof value === 'string') return `, but is ${JSON.stringify(value.slice(0, 80))}`;
  return `, but is ${value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value}`;
}
