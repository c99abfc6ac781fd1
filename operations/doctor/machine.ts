// Checks of the machine: the C library and the parts that depend on it, cgroup limits, disk space. Called by `platform
// doctor`.
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import path from 'node:path';
import { removedSettings } from '#core/removed-variables.ts';
import { limitRows, limitsFrom } from '#core/limits.ts';
import { hasUwsPackage, installedUws, uwsProblem, uwsSystem } from '#core/process/uws.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const GB = 1024 ** 3;
const INODES_SHARE_MIN = 0.05;

export function checkMachine(environment: Environment, folder: string): Finding[] {
  return [
    checkLibrary(environment, folder),
    checkGroup(),
    ...checkInodes(folder),
    checkLimits(environment),
    ...removedSettings(environment).map((line) => warn('limits', line, 'Remove the variable: it is not used.')),
  ];
}

/** Checks the glibc version, and which HTTP listener is used. */
function checkLibrary(environment: Environment, folder: string): Finding {
  const system = uwsSystem();
  const { glibc } = system;
  if (glibc === undefined)
    return process.platform === 'linux'
      ? fail(
          'glibc',
          'This system has another C library',
          'Use a system with glibc, such as Debian: musl is not supported.',
        )
      : ok('glibc', 'Not Linux: the HTTP listener is node:http');
  const wanted = environment['HANDLER_LISTENER']?.trim();
  const kept = hasUwsPackage() ? null : installedUws(folder);
  const problem = uwsProblem(system) ?? (kept !== null && 'reason' in kept ? kept.reason : null);
  if (wanted === 'uws' && problem !== null)
    return fail(
      'glibc',
      `HANDLER_LISTENER is uws, and glibc is ${glibc}: ${problem}`,
      'Run `platform listener` for instructions, or remove HANDLER_LISTENER.',
    );
  const reason = wanted === 'node' ? 'HANDLER_LISTENER is node' : problem;
  return ok('glibc', `glibc ${glibc}: ${reason === null ? 'uWebSockets.js' : "Node's listener"} serves`);
}

/** The cgroup limits, for cgroup v1 and v2. */
function checkGroup(): Finding {
  const memory = process.constrainedMemory();
  const bounded = memory > 0 && memory < totalmem();
  const cpus = cpusOf();
  const words = [
    bounded ? `${(memory / GB).toFixed(1)} GB of memory` : 'all memory',
    cpus === null ? `${availableParallelism()} cores` : `${cpus.toFixed(1)} of ${availableParallelism()} cores`,
  ].join(', ');
  if (bounded && memory < 2 * GB * 0.95)
    return warn('cgroup', `The control group allows ${words}`, 'Allow 2 GB: with less, engines and builds are killed.');
  return ok('cgroup', `The control group allows ${words}`);
}

function cpusOf(): number | null {
  const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '');
  const [quota = '', period = ''] = read('/sys/fs/cgroup/cpu.max').split(' ');
  const of = Number(quota) / Number(period);
  if (of > 0 && Number.isFinite(of)) return of;
  const old =
    Number(read('/sys/fs/cgroup/cpu/cpu.cfs_quota_us')) / Number(read('/sys/fs/cgroup/cpu/cpu.cfs_period_us'));
  return old > 0 && Number.isFinite(old) ? old : null;
}

function checkInodes(folder: string): Finding[] {
  const at = existing(folder);
  const { files, ffree } = statfsSync(at);
  // Some file systems allocate inodes on demand and report none.
  if (files === 0) return [];
  const message = `${ffree} of ${files} inodes are free for ${at}`;
  return ffree < files * INODES_SHARE_MIN
    ? [fail('inodes', message, 'Artifacts have many small files: lower the retention of deployments.')]
    : [ok('inodes', message)];
}

/** The folder, or its nearest existing ancestor. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

/** Limits that can be changed by a variable, with the variable. */
function checkLimits(environment: Environment): Finding {
  try {
    limitsFrom(environment);
  } catch (error) {
    return fail('limits', (error as Error).message, 'The platform cannot start with this value: correct or remove it.');
  }
  const changed = limitRows.flatMap(([variable, value]) => {
    const text = environment[variable]?.trim() ?? '';
    return text === '' || Number(text) === value ? [] : [`${variable}=${text} (default ${value})`];
  });
  const words = `${limitRows.length - changed.length} have their defaults`;
  return ok('limits', changed.length === 0 ? words : `${changed.join(', ')}; ${words}`);
}
