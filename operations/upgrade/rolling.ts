// Upgrades this machine to this version of the program while other machines serve: schema first, then drain, restart
// and wait until it serves again. Only one machine is upgraded at a time (turn.ts). Called by `platform upgrade
// --rolling`.
import { spawn } from 'node:child_process';
import { chownSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  readDataFolderRecord,
  UPGRADE_FILE,
  writeDataFolderRecord,
  type DataFolderRecord,
} from '#core/process/platform-record.ts';
import { thisProgram } from '#postgres/compatibility.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { countMigrations } from '#postgres/ledger.ts';
import { migrate } from '#postgres/migrate.ts';
import { schemaVersion } from '#postgres/schema-version.ts';
import { machineSettings } from '#runtime/supervisor/machine/settings.ts';
import { backupError } from '../archive/backup-error.ts';
import { forgetUpgrade, readUpgrade, writeUpgrade, type UpgradeState } from './state.ts';
import {
  drainMachine,
  isKnownToEdges,
  isServing,
  noteStep,
  readMachines,
  takeTurn,
  type UpgradedMachine,
} from './turn.ts';
import type { UpgradeOptions } from './upgrade.ts';

/** Options of a rolling upgrade. */
interface RollingOptions extends Omit<UpgradeOptions, 'launcher'> {
  /** `DATABASE_URL`. */
  readonly url: string;
  /** Shell command that restarts the platform on this machine, and returns. */
  readonly restart: string;
  /** How long the machine may take to drain, and to come back. */
  readonly msMax: number;
  /** Name of a machine that did not come back and is ignored, or null. */
  readonly skip: string | null;
  /** User of the data folder, if it differs from the user of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  /** Makes a backup. @returns the location of the backup; null if no backup is wanted. */
  readonly backUp: () => Promise<string | null>;
  /** Makes the next start use this version. */
  readonly useThis: () => void;
  /** Makes the next start use the previous version. @returns false if the location of that version is unknown. */
  readonly useFormer: () => boolean;
}

/** Result of a rolling upgrade. */
interface RollingReport {
  readonly machine: string;
  readonly from: string;
  readonly to: string;
  /** Machines with another version, by name. */
  readonly left: readonly { readonly name: string; readonly version: string }[];
}

const LOOK_MS = 500;
/** Edges check every two seconds; an edge that does not respond is not waited for. */
const EDGES_MS_MAX = 15_000;

/** @throws {Failure} `backup` with the obstacle. If it throws before the machine is drained, nothing has changed. */
export async function upgradeRolling(options: RollingOptions): Promise<RollingReport> {
  const { say } = options;
  const { name } = machineSettings(options.environment, {});
  const sql = openPostgres({ url: options.url, name: 'platform upgrade', connectionsMax: 2 });
  try {
    return await sql.session(async (session) => {
      const { isOwnOpen } = await takeTurn(session, name, options.skip, say);
      const own = await ownMachine(sql, name);
      const to = options.version;
      if (own.status === 'up' && own.version === to) {
        say(`${name} already has version ${to}`);
        if (isOwnOpen) await noteStep(sql, { machine: name, from_version: to, to_version: to, step: 'done' });
      } else await upgradeOwn(sql, own, options);
      const left = (await readMachines(sql)).filter((one) => one.status !== 'lost' && one.version !== to);
      return {
        machine: name,
        from: own.version,
        to,
        left: left.map((one) => ({ name: one.name, version: one.version })),
      };
    });
  } finally {
    await sql.close();
  }
}

async function upgradeOwn(sql: Postgres, own: UpgradedMachine, options: RollingOptions): Promise<void> {
  const { version, say, msMax } = options;
  const { name } = own;
  const serves = own.upstream !== null && own.parts.includes('handler');
  if (serves && !(await readMachines(sql)).some((one) => one.name !== name && isServing(one)))
    throw backupError(
      'settings',
      `No other machine serves requests while ${name} is upgraded`,
      'Start another machine, or stop the platform and upgrade with `platform upgrade`.',
    );
  await migrateFirst(sql, options);
  const turn = { machine: name, from_version: own.version, to_version: version };
  if (serves && own.status !== 'lost') {
    await noteStep(sql, { ...turn, step: 'draining' });
    say(`Draining ${name}`);
    await drainMachine(sql, name);
    const isDrained = await waited(msMax, async () => {
      const found = await findMachine(sql, name);
      return found === null || found.status === 'drained' || found.status === 'lost';
    });
    if (!isDrained) {
      const reason = `it did not drain within ${msMax / 1000} s`;
      await noteStep(sql, { ...turn, step: 'failed', reason });
      throw backupError(
        'failed',
        `${name} was not upgraded: ${reason}`,
        `Check the log of the machine. Restart the machine to use it again.`,
      );
    }
  }
  await noteStep(sql, { ...turn, step: 'restarting' });
  const before = readDataFolderRecord(options.folder);
  prepareFolder(options, before);
  options.useThis();
  say(`Restarting ${name} with version ${version}`);
  const problem = await restarted(sql, options, own, version);
  if (problem === null) {
    await waited(EDGES_MS_MAX, () => isKnownToEdges(sql, name));
    await noteStep(sql, { ...turn, step: 'done' });
    return;
  }
  say(`${name} ${problem}: going back to version ${own.version}`);
  const isBack = await goBack(sql, options, own, before);
  await noteStep(sql, { ...turn, step: 'failed', reason: `it ${problem}` });
  throw backupError(
    'failed',
    `${name} did not come back with version ${version}: it ${problem}`,
    `${isBack ? `It has version ${own.version} again.` : `It does not run: start version ${own.version} there.`} Other machines keep their version until it is upgraded; see its log.`,
  );
}

async function ownMachine(sql: Postgres, name: string): Promise<UpgradedMachine> {
  const found = await findMachine(sql, name);
  if (found !== null) return found;
  const names = (await readMachines(sql)).map((one) => one.name).join(', ');
  throw backupError(
    'settings',
    `No machine called ${name} has announced itself`,
    `Start the platform here first, and set MACHINE_NAME as it has it. ${names === '' ? 'There are no machines.' : `There are: ${names}.`}`,
  );
}

async function findMachine(sql: Postgres, name: string): Promise<UpgradedMachine | null> {
  return (await readMachines(sql)).find((one) => one.name === name) ?? null;
}

/** Migrates the tables to this version. The previous version can use these tables too. */
async function migrateFirst(sql: Postgres, { backUp, say }: RollingOptions): Promise<void> {
  const count = (await countMigrations((text) => sql.all(text))) ?? 0;
  if (count < schemaVersion()) {
    const location = await backUp();
    if (location !== null) say(`Backed up to ${location}`);
    say(`Applying ${schemaVersion() - count} migrations`);
  }
  try {
    await migrate(sql, undefined, thisProgram());
  } catch (error) {
    throw backupError(
      'failed',
      `The tables were not changed: ${(error as Error).message}`,
      'All machines run as before.',
      { cause: error },
    );
  }
}

/** Prepares a data folder of the previous version for the start of this version. */
function prepareFolder(
  { folder, environment, version, program, owner }: RollingOptions,
  before: DataFolderRecord | null,
): void {
  if (before === null || before.schema === schemaVersion()) return;
  const now = { version, program, schema: schemaVersion() };
  if (before.schema > schemaVersion()) {
    writeDataFolderRecord(folder, { ...before, ...now });
  } else if (environment['UPGRADE_BACKUP'] !== 'off') {
    const { version: of, program: former, schema } = before;
    const state: UpgradeState = {
      id: randomBytes(8).toString('hex'),
      step: 'migrate',
      from: { version: of, program: former, schema },
      to: now,
      backup: '',
      isRolling: true,
      startedAt: new Date().toISOString(),
    };
    writeUpgrade(folder, state);
  }
  giveTo(owner, folder);
}

/** Gives the files that this process has written to the user of the folder. */
function giveTo(owner: RollingOptions['owner'], folder: string): void {
  if (owner === null) return;
  for (const name of ['platform.json', UPGRADE_FILE])
    try {
      chownSync(path.join(folder, name), owner.uid, owner.gid);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
}

/** Restarts the platform. @returns the problem; null if the machine serves with that version. */
async function restarted(
  sql: Postgres,
  { restart, msMax }: RollingOptions,
  own: UpgradedMachine,
  version: string,
): Promise<string | null> {
  const code = await run(restart, msMax);
  if (code !== 0) return `was not restarted: \`${restart}\` ended with ${code ?? 'no exit code'}`;
  let last = 'did not announce itself';
  const isUp = await waited(msMax, async () => {
    const found = await findMachine(sql, own.name);
    if (found === null || found.member === own.member) return false;
    if (found.version !== version) last = `runs version ${found.version}`;
    else if (found.status !== 'up') last = `is ${found.status}`;
    else if (!(await isReady(found.private_origin))) last = 'is not ready';
    else return true;
    return false;
  });
  return isUp ? null : `${last} within ${msMax / 1000} s`;
}

async function goBack(
  sql: Postgres,
  options: RollingOptions,
  own: UpgradedMachine,
  before: DataFolderRecord | null,
): Promise<boolean> {
  if (!options.useFormer()) return false;
  const state = readUpgrade(options.folder);
  if (state?.isRolling === true) forgetUpgrade(options.folder);
  if (before !== null) {
    writeDataFolderRecord(options.folder, before);
    giveTo(options.owner, options.folder);
  }
  return (await restarted(sql, options, own, own.version)) === null;
}

async function isReady(origin: string | null): Promise<boolean> {
  if (origin === null) return true;
  const answer = await fetch(`${origin}/_platform/health/ready`, { signal: AbortSignal.timeout(5000) }).catch(
    () => null,
  );
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/** Runs a command of the operator. @returns the exit code of the process; null if a signal ended it. */
function run(command: string, msMax: number): Promise<number | null> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'], timeout: msMax });
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', (code) => resolve(code));
  });
}

/**
 * Checks until the condition is true; Postgres may be unavailable in the meantime. @returns false if the condition was
 * not true within that time.
 */
async function waited(msMax: number, look: () => Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + msMax; performance.now() < end; await pause(LOOK_MS))
    if (await look().catch(() => false)) return true;
  return false;
}
