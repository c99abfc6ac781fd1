// `platform doctor`: checks this machine and the chosen platform; each line has advice. Exit code 1 if a check fails.
import { existsSync } from 'node:fs';
import { defineCommand } from 'citty';
import type { Api } from '../account/api.ts';
import { findApi, platformFlags } from '../api/target.ts';
import { checkApi } from '../doctor/check-api.ts';
import { checkDomain, checkFolders, checkPorts, checkPrograms, checkRoom, partsHere } from '../doctor/checks.ts';
import { fail, ok, warn, type Finding } from '#operations/doctor/finding.ts';
import { checkInstallation } from '#operations/doctor/installation.ts';
import { checkMachine } from '#operations/doctor/machine.ts';
import { checkServices } from '#operations/doctor/services.ts';
import { locationsOf } from '#operations/locations.ts';
import { checkEdge } from '../doctor/check-edge.ts';
import { findPlatform, type LocalPlatform } from '../local/local-platform.ts';
import { dataFolder, handlerAddress } from '../local/locations.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

const styles: Readonly<Record<Finding['status'], Style>> = { ok: 'green', warn: 'yellow', fail: 'red' };

export const command = defineCommand({
  meta: { name: 'doctor', description: 'Check this machine and the platform for problems' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const running = await runningHere(shell);
    const findings = [
      ...(await checkPrograms(shell)),
      ...checkRoom(shell),
      ...checkFolders(shell),
      ...(await checkPorts(shell, running)),
      ...(await checkOperations(shell)),
      await checkDomain(running?.domain ?? handlerAddress(shell).domain),
      ...(await checkEdge(shell)),
      ...(await checkPlatform(shell, args)),
    ];
    const isWell = findings.every(({ status }) => status !== 'fail');
    print(shell, args.json, { ok: isWell, checks: findings }, () => {
      for (const { name, status, message, advice } of findings) {
        shell.out(`${shell.paint(styles[status], status.padEnd(4))}  ${name.padEnd(11)}  ${plain(message)}`);
        if (advice !== null) shell.out(`${' '.repeat(19)}${shell.paint('dim', plain(advice))}`);
      }
    });
    return isWell ? 0 : 1;
  },
});

/** Checks of the platform in this machine's data folder, if any. */
async function checkOperations(shell: Shell): Promise<Finding[]> {
  const folder = dataFolder(shell);
  const machine = checkMachine(shell.env, folder);
  if (!existsSync(folder)) return machine;
  try {
    const services = await checkServices(locationsOf(shell.env, folder));
    return [...machine, ...services, ...checkInstallation(shell.env, folder, Date.now())];
  } catch (error) {
    const { message, advice } = error as { message: string; advice?: string };
    return [...machine, fail('settings', message, advice ?? 'Check the variables of the platform.')];
  }
}

async function runningHere(shell: Shell): Promise<LocalPlatform | null> {
  try {
    return await findPlatform(shell, () => handlerAddress(shell));
  } catch {
    return null;
  }
}

/** Check of the control plane from a container. */
async function checkPart(shell: Shell, parts: readonly string[]): Promise<Finding> {
  if (!parts.includes('api'))
    return ok('api', 'The control plane runs elsewhere: check the control plane with `platform doctor --api <url>`');
  const port = shell.env['API_PORT']?.trim() || '4002';
  const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(5000) }).catch(
    () => null,
  );
  await answer?.body?.cancel();
  if (answer?.ok === true) return ok('api', `The API responds on port ${port}; \`platform login\` enables more checks`);
  return fail('api', `The API does not respond on port ${port}`, 'See the log of this container.');
}

async function checkPlatform(
  shell: Shell,
  flags: { api?: string | undefined; token?: string | undefined },
): Promise<Finding[]> {
  let api: Api | null;
  try {
    api = await findApi(shell, flags);
  } catch (error) {
    const { message, advice } = error as { message: string; advice?: string | null };
    return [warn('api', message, advice ?? 'Choose a platform with --api.')];
  }
  const parts = partsHere(shell);
  if (api === null && parts !== null) return [await checkPart(shell, parts)];
  if (api === null)
    return [ok('api', 'The platform on this machine has no control plane: commands write to its data folder')];
  return checkApi(api);
}
