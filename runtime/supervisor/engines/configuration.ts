// The supervisor's settings. The supervisor reads as few variables as possible: engines validate their own variables
// and report errors.
import { availableParallelism } from 'node:os';
import { checkDatabaseUrls } from '#core/database-url.ts';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { parseInteger } from '#core/parse-integer.ts';
import { machineMemory } from '#core/process/machine-memory.ts';
import { partsFrom, type Parts } from './parts.ts';

/** Settings of the supervisor. */
export interface SupervisorConfig {
  /** `PLATFORM_PARTS`: parts that run here. */
  readonly parts: Parts;
  /** `FS_PATH`; empty if it is not set, which engines refuse. */
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  /** The first of `HANDLER_DOMAIN`. */
  readonly domain: string;
  /** `HANDLER_PROCESSES`: number of serving engines. */
  readonly processes: number;
  /** `HANDLER_SPARES`: booted engines that wait to replace a dead one. */
  readonly spares: number;
  /** `ENGINE_MEMORY_MB` for each engine: all engines together get at most half of the memory. */
  readonly engineMemoryMb: number;
  readonly limits: Limits;
}

/** Share of the machine's or container's memory for all engines together. */
const ENGINES_MEMORY_PART = 0.5;

/**
 * @param memoryBytes the memory of the machine, or of the container. @throws {Error} naming the variable, its value and
 * valid values.
 */
export function supervisorConfig(
  environment: Readonly<Record<string, string | undefined>>,
  memoryBytes = machineMemory(),
): SupervisorConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const whole = (name: string, otherwise: number, least: number, most: number): number =>
    get(name) === '' ? otherwise : parseInteger(name, get(name), { least, most });
  const parts = partsFrom(environment);
  checkDatabaseUrls(environment);
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
