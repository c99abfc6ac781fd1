// The supervisor's settings. It reads as little as it can: engines check theirs, and say what is wrong with it.
import { availableParallelism } from 'node:os';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { parseInteger } from '#core/parse-integer.ts';
import { machineMemory } from '#core/process/machine-memory.ts';
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
  /** `ENGINE_MEMORY_MB` of its engines: they share half of the memory that there is, at most. */
  readonly engineMemoryMb: number;
  readonly limits: Limits;
}

/** All engines together keep to this part of the memory of the machine or the container. */
const ENGINES_MEMORY_PART = 0.5;

/**
 * @param memoryBytes of the machine, or of the container. @throws {Error} naming the variable, its value and what it
 * takes.
 */
export function supervisorConfig(
  environment: Readonly<Record<string, string | undefined>>,
  memoryBytes = machineMemory(),
): SupervisorConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const whole = (name: string, otherwise: number, least: number, most: number): number =>
    get(name) === '' ? otherwise : parseInteger(name, get(name), { least, most });
  const parts = partsFrom(environment);
  const serves = parts.has('handler');
  const limits = limitsFrom(environment);
  const processes = serves ? whole('HANDLER_PROCESSES', availableParallelism(), 1, 256) : 0;
  const shareMb = Math.floor((memoryBytes * ENGINES_MEMORY_PART) / Math.max(1, processes) / 1024 ** 2);
  return {
    parts,
    folder: get('FS_PATH'),
    host: get('HANDLER_HOST') || '127.0.0.1',
    port: whole('HANDLER_PORT', 4001, 0, 65_535),
    domain: get('HANDLER_DOMAIN').split(',')[0]!.trim().toLowerCase() || 'localhost',
    processes,
    spares: serves ? whole('HANDLER_SPARES', 1, 0, 16) : 0,
    engineMemoryMb: Math.min(limits.engineMemoryMb, Math.max(1, shareMb)),
    limits,
  };
}
