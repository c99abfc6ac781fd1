// The supervisor's settings. It reads as little as it can: engines check theirs, and say what is wrong with it.
import { availableParallelism } from 'node:os';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { parseInteger } from '#core/parse-integer.ts';
import { partsFrom, type Parts } from './parts.ts';

/** Settings of the supervisor. */
export interface SupervisorConfig {
  /** `PLATFORM_PARTS`: what runs here. */
  readonly parts: Parts;
  /** `FS_PATH`; empty when it is not set, which engines refuse. */
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  /** The first of `HANDLER_DOMAIN`. */
  readonly domain: string;
  /** `HANDLER_PROCESSES`: engines that serve. */
  readonly processes: number;
  /** `HANDLER_SPARES`: engines that wait, booted, for one to die. */
  readonly spares: number;
  readonly limits: Limits;
}

/** The part of a machine's or a container's memory that its engines keep to together. */
const ENGINES_MEMORY_PART = 0.5;

/**
 * Resident memory, in megabytes, above which an engine lets idle isolates go.
 *
 * @param mb `ENGINE_MEMORY_MB`. @param machineBytes what the machine has, or the container may have.
 * @param engines that share it, 1 or more.
 * @example engineMemoryMb(4096, 4 * 1024 ** 3, 2) // 1024
 */
export function engineMemoryMb(mb: number, machineBytes: number, engines: number): number {
  return Math.min(mb, Math.max(1, Math.floor((machineBytes * ENGINES_MEMORY_PART) / engines / 1024 ** 2)));
}

/** @throws {Error} naming the variable, its value and what it takes. */
export function supervisorConfig(environment: Readonly<Record<string, string | undefined>>): SupervisorConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const whole = (name: string, otherwise: number, least: number, most: number): number =>
    get(name) === '' ? otherwise : parseInteger(name, get(name), { least, most });
  const parts = partsFrom(environment);
  const serves = parts.has('handler');
  return {
    parts,
    folder: get('FS_PATH'),
    host: get('HANDLER_HOST') || '127.0.0.1',
    port: whole('HANDLER_PORT', 4001, 0, 65_535),
    domain: get('HANDLER_DOMAIN').split(',')[0]!.trim().toLowerCase() || 'localhost',
    processes: serves ? whole('HANDLER_PROCESSES', availableParallelism(), 1, 256) : 0,
    spares: serves ? whole('HANDLER_SPARES', 1, 0, 16) : 0,
    limits: limitsFrom(environment),
  };
}
