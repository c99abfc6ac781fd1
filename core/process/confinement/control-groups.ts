// Control groups of one build, version 1 or 2, if this process may create them: the kernel then enforces the limits
// of memory, processes and CPU time. Called by sandbox.ts, which monitors processes if there are no groups.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Limits enforced by groups. */
interface GroupLimits {
  readonly memoryBytesMax: number;
  readonly processesMax: number;
  readonly processorsMax: number;
}

/** The control groups of one build; some of them may be missing. */
export interface ControlGroups {
  /** Files to which a process id is written to add the process to the groups. */
  readonly files: readonly string[];
  readonly hasMemory: boolean;
  readonly hasProcesses: boolean;
  /** The limit that was reached since the groups were created, or null. */
  hit(): Promise<'memory' | 'processes' | null>;
  /** The process ids in these groups; null if the groups are missing. */
  processes(): Promise<readonly number[] | null>;
  /** Removes the groups when their processes have ended. */
  close(): Promise<void>;
}

interface Controller {
  readonly folder: string;
  readonly kind: 'memory' | 'processes' | 'processors' | 'all';
}

const CONTROLLERS = [
  ['memory', 'memory'],
  ['pids', 'processes'],
  ['cpu', 'processors'],
] as const;
const MOUNT = '/sys/fs/cgroup';
const PREFIX = 'platform-build-';
/** Groups left by a killed builder are removed once no build can still be in them. */
const LEFT_MS = 6 * 3_600_000;
const CPU_PERIOD_US = 100_000;
/** A group stays busy for a moment after its last process has ended. */
const REMOVALS = 20;
const REMOVAL_MS = 25;

/**
 * Creates the available groups. Never throws, because missing groups are replaced by monitoring. @param bounds null if
 * none are requested.
 */
export async function openControlGroups(limits: GroupLimits | null): Promise<ControlGroups> {
  const made = limits === null ? [] : await makeGroups(limits);
  const of = (kind: Controller['kind']): Controller | undefined =>
    made.find((controller) => controller.kind === kind || controller.kind === 'all');
  const memory = of('memory');
  const processes = of('processes');
  return {
    files: made.map(({ folder }) => join(folder, 'cgroup.procs')),
    hasMemory: memory !== undefined,
    hasProcesses: processes !== undefined,
    async hit() {
      if (memory !== undefined) {
        const file = memory.kind === 'all' ? 'memory.events' : 'memory.oom_control';
        if (countIn(await textOf(join(memory.folder, file)), 'oom_kill') > 0) return 'memory';
      }
      if (processes !== undefined && countIn(await textOf(join(processes.folder, 'pids.events')), 'max') > 0)
        return 'processes';
      return null;
    },
    async processes() {
      const [first] = made;
      if (first === undefined) return null;
      const text = await textOf(join(first.folder, 'cgroup.procs'));
      return text.split('\n').filter(Boolean).map(Number);
    },
    async close() {
      for (const { folder } of made) await remove(folder);
    },
  };
}

async function makeGroups(limits: GroupLimits): Promise<readonly Controller[]> {
  const name = `${PREFIX}${randomBytes(6).toString('hex')}`;
  const own = parseOwnGroups(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''));
  const unified = await makeUnified(name, own.get('') ?? '/', limits);
  if (unified !== null) return [unified];
  const made: Controller[] = [];
  for (const [controller, kind] of CONTROLLERS) {
    const folder = await makeOfVersion1(name, controller, own.get(controller) ?? '/', kind, limits);
    if (folder !== null) made.push({ folder, kind });
  }
  return made;
}

/** The groups that a process is in, by controller; '' is the unified hierarchy. @param text of /proc/self/cgroup */
export function parseOwnGroups(text: string): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers?.split(',') ?? []) groups.set(controller, path!);
  }
  return groups;
}

async function makeUnified(name: string, own: string, limits: GroupLimits): Promise<Controller | null> {
  // The groups are created next to this process's group, not inside it, because a group with processes has no child
  // groups with controllers.
  for (const above of new Set([join(MOUNT, own, '..'), join(MOUNT, own), MOUNT])) {
    const folder = join(above, name);
    if (!above.startsWith(MOUNT) || !(await succeeds(mkdir(folder)))) continue;
    const isWritten =
      (await succeeds(writeFile(join(folder, 'memory.max'), String(limits.memoryBytesMax), { flag: 'r+' }))) &&
      (await succeeds(writeFile(join(folder, 'pids.max'), String(limits.processesMax), { flag: 'r+' })));
    if (!isWritten) {
      await remove(folder);
      continue;
    }
    await removeLeft(above);
    await succeeds(writeFile(join(folder, 'memory.swap.max'), '0', { flag: 'r+' }));
    const quota = `${Math.round(limits.processorsMax * CPU_PERIOD_US)} ${CPU_PERIOD_US}`;
    await succeeds(writeFile(join(folder, 'cpu.max'), quota, { flag: 'r+' }));
    return { folder, kind: 'all' };
  }
  return null;
}

async function makeOfVersion1(
  name: string,
  controller: string,
  own: string,
  kind: 'memory' | 'processes' | 'processors',
  limits: GroupLimits,
): Promise<string | null> {
  const values: Readonly<Record<typeof kind, readonly (readonly [string, number])[]>> = {
    memory: [['memory.limit_in_bytes', limits.memoryBytesMax]],
    processes: [['pids.max', limits.processesMax]],
    processors: [
      ['cpu.cfs_period_us', CPU_PERIOD_US],
      ['cpu.cfs_quota_us', Math.round(limits.processorsMax * CPU_PERIOD_US)],
    ],
  };
  // In a container, the path is the host's path, and the mount shows the container's own group as the root.
  for (const above of new Set([join(MOUNT, controller, own), join(MOUNT, controller)])) {
    const folder = join(above, name);
    if (!(await succeeds(mkdir(folder)))) continue;
    await removeLeft(above);
    let isWritten = true;
    for (const [file, value] of values[kind])
      isWritten &&= await succeeds(writeFile(join(folder, file), String(value), { flag: 'r+' }));
    // Where swap is limited together with memory, both have the same limit, so that swap adds nothing.
    if (kind === 'memory')
      await succeeds(
        writeFile(join(folder, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytesMax), { flag: 'r+' }),
      );
    if (isWritten) return folder;
    await remove(folder);
  }
  return null;
}

/** Only empty groups can be removed. */
async function removeLeft(above: string): Promise<void> {
  for (const entry of await readdir(above).catch(() => [])) {
    if (!entry.startsWith(PREFIX)) continue;
    const { mtimeMs } = await stat(join(above, entry)).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > LEFT_MS) await succeeds(rmdir(join(above, entry)));
  }
}

async function remove(folder: string): Promise<void> {
  for (let left = REMOVALS; left > 0; left--) {
    if (await succeeds(rmdir(folder))) return;
    await new Promise((resolve) => setTimeout(resolve, REMOVAL_MS));
  }
}

function countIn(text: string, key: string): number {
  return Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
