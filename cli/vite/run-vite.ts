// Starts the project's Vite as a child process, with a generated configuration if the project has none. Called by
// `platform vite` and, for Vite projects, by `platform dev`.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { usesVitePlugin } from '#builder/frameworks/detect.ts';
import { filesIn } from '#builder/frameworks/project-files.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

const CONFIG_NAMES = ['js', 'mjs', 'ts', 'cjs', 'mts', 'cts'].map((extension) => `vite.config.${extension}`);
/** The launcher of this program, used by the plugin to start its engine. */
const LAUNCHER = fileURLToPath(new URL('../run.mjs', import.meta.url));
const VITE_MAJOR_MIN = 8;

/** Parameters of a Vite run. */
export interface ViteRun {
  readonly command: 'build' | 'dev';
  /** Folder of the project. */
  readonly folder: string;
  /** Absolute path of the configuration file; null means `platform.yaml` in the folder, if any. */
  readonly configFile: string | null;
  /** Further arguments for Vite. */
  readonly words: readonly string[];
  /** Port of the dashboard: 0 means a free port. The default is the server's port + 1000. */
  readonly dashboardPort?: number | null;
}

/** Runs Vite until it exits or the user stops it. @returns its exit code. @throws {CliError} if not installed. */
export async function runVite(shell: Shell, run: ViteRun): Promise<number> {
  const { command, folder, configFile, words, dashboardPort = null } = run;
  const vite = findVite(folder);
  const config = hasViteConfig(folder, words) ? [] : ['--config', writeConfig(folder, configFile)];
  const [program, ...loader] = nodeCommand();
  const child = spawn(program, [...loader, vite, command, ...config, ...words], {
    cwd: folder,
    stdio: 'inherit',
    env: {
      ...shell.env,
      PLATFORM_CLI: LAUNCHER,
      ...(configFile !== null && { PLATFORM_CONFIG: configFile }),
      ...(dashboardPort !== null && { PLATFORM_DASHBOARD_PORT: String(dashboardPort) }),
    },
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
  });
  const stopped = shell.untilStopped().then(async (signal) => {
    child.kill(signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
    await ended;
    return 0;
  });
  return Promise.race([ended, stopped]);
}

/** Whether the project has a Vite configuration. */
function hasViteConfig(folder: string, words: readonly string[] = []): boolean {
  return (
    words.some((word) => /^(?:-c|--config)(?:=|$)/.test(word)) ||
    CONFIG_NAMES.some((name) => existsSync(path.join(folder, name)))
  );
}

/** Whether Vite's dev server serves the project: it has a configuration and depends on the plugin. */
export function isViteProject(folder: string): boolean {
  return hasViteConfig(folder) && usesVitePlugin(filesIn(folder));
}

/** The executable of the project's Vite. */
function findVite(folder: string): string {
  let file: string;
  try {
    file = createRequire(path.join(folder, 'package.json')).resolve('vite/package.json');
  } catch {
    throw new CliError(`Vite is not installed in ${folder}`, {
      advice: 'Install it: npm install --save-dev vite @platform-run/vite',
    });
  }
  const { version, bin } = JSON.parse(readFileSync(file, 'utf8')) as { version: string; bin: { vite: string } };
  if (Number(version.split('.')[0]) < VITE_MAJOR_MIN)
    throw new CliError(`Vite ${version} is installed, but the platform's plugin requires ${VITE_MAJOR_MIN} or later`, {
      advice: `Install it: npm install --save-dev vite@${VITE_MAJOR_MIN}`,
    });
  return path.join(path.dirname(file), bin.vite);
}

/** Writes a configuration with only the plugin. @returns its path. */
function writeConfig(folder: string, configFile: string | null): string {
  try {
    createRequire(path.join(folder, 'package.json')).resolve('@platform-run/vite');
  } catch {
    throw new CliError(`The Vite plugin is not installed in ${folder}`, {
      advice: 'Install it: npm install --save-dev @platform-run/vite',
    });
  }
  const options = configFile === null ? '' : JSON.stringify({ config: configFile });
  const file = path.join(folder, '.platform', 'vite.config.mjs');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(
    file,
    `// Written by \`platform vite\`, since there is no vite.config here.\nimport { platform } from '@platform-run/vite';\n\nexport default { plugins: [...platform(${options})] };\n`,
  );
  return file;
}
