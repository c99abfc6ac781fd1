// Sandboxes as machines of a hosted provider. The agent is a file written to each machine; every connection to it is a
// program that the provider starts there to forward bytes. No secrets of the platform are on a machine, and no
// container engine is needed.
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import { BUILD_RESOURCE } from '#core/sandbox/operations.ts';
import type { SandboxOptions } from '#core/sandbox/options.ts';
import type { MachineSpec, MachineState, SandboxBackend } from '../backend.ts';
import { checkProvider, keyExcess, keyExpiry, snapshotMismatch } from './checks.ts';
import type { HostedSettings, PinnedTemplate } from './settings.ts';
import { type HostedProvider, type ProviderMachine } from './provider.ts';

/** Options of the backend. */
interface HostedBackendDeps {
  readonly provider: HostedProvider & { close(): Promise<void> };
  readonly settings: HostedSettings;
  /** The agent file, and its commands on the machine. */
  readonly program: HostedProgram;
  /** Prefix of machine names: several platforms may share an organization. */
  readonly installation: string;
  /** How long a machine may take to start. */
  readonly startMsMax: number;
  /** Logs provider errors for operators. */
  report(message: string): void;
}

/** The agent for hosted machines. */
export interface HostedProgram {
  /** A self-extracting file for `/bin/sh`. */
  readonly install: Uint8Array;
  /** Exits with 0 if this version is installed. */
  readonly isInstalled: readonly string[];
  /** Connects its input and output to the agent; starts the agent if it is not running. */
  readonly call: readonly string[];
}

/** The path is relative to the home folder, where programs start. */
const INSTALL_FILE = '.platform-sandbox-install';
const POLL_MS = 100;

/**
 * @throws {Error} with the fix when the provider does not accept the key, the key has too many permissions and
 * `HOSTED_REQUIRE_SCOPED_KEY` is set, the provider does not have the machine type, or a template is not at its pinned
 * snapshot.
 */
export async function openHostedBackend(deps: HostedBackendDeps): Promise<SandboxBackend> {
  const { provider, settings, program, installation, report } = deps;
  const prefix = `platform-${installation}-`;
  const nameOf = (key: string): string => `${prefix}${key}`;
  /** Machine ids by name, valid until the machine is deleted. */
  const ids = new Map<string, string>();
  await checkKey();
  const machineTypes = await provider.machineTypes();
  checkMachineType();
  for (const resource of ['', BUILD_RESOURCE]) {
    const mismatch = await mismatchOf(resource);
    if (mismatch !== null) throw new Error(mismatch);
  }

  /** The template of a resource's sandboxes. */
  function templateOf(resource: string): PinnedTemplate {
    return resource === BUILD_RESOURCE ? (settings.builds ?? settings) : settings;
  }

  /** Null if the template is at the pinned snapshot. */
  async function mismatchOf(resource: string): Promise<string | null> {
    const isOfBuilds = resource === BUILD_RESOURCE && settings.builds !== null;
    const pin = isOfBuilds ? 'BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID' : 'HOSTED_TEMPLATE_SNAPSHOT_ID';
    return snapshotMismatch(provider, templateOf(resource), pin);
  }

  async function checkKey(): Promise<void> {
    const key = await provider.key();
    const excess = keyExcess(key);
    if (excess !== null && settings.requiresScopedKey) throw new Error(`HOSTED_REQUIRE_SCOPED_KEY: ${excess}`);
    if (excess !== null) report(excess);
    const expiry = keyExpiry(key, Date.now());
    if (expiry !== null) report(expiry);
  }

  function checkMachineType(): void {
    if (!machineTypes.includes(settings.machineType))
      throw new Error(
        `HOSTED_MACHINE_TYPE is ${settings.machineType}, and the provider has ${machineTypes.join(', ') || 'none'}`,
      );
  }

  function check({ machine, image, egress }: SandboxOptions): void {
    const refuse = (reason: string): never => {
      throw new PlatformError('sandbox_option_refused', { reason });
    };
    if (machine !== null && !machineTypes.includes(machine))
      refuse(`the provider has no machine "${machine}": it has ${machineTypes.join(', ')}`);
    if (image !== null)
      refuse(`machines of a hosted provider are made of its template, and take no image (${image}): leave it out`);
    if (egress !== null && egress.mode !== 'all')
      refuse(`machines of a hosted provider have its network, which egress "${egress.mode}" cannot narrow`);
  }

  function checkCopy(): never {
    throw new PlatformError('sandbox_copy_refused', {
      reason: 'a hosted provider makes copies by snapshots, which the key of this platform must not write',
    });
  }

  const typeOf = ({ machine }: SandboxOptions): string => machine ?? settings.machineType;

  /** Provider errors are logged for operators; tenants only see that the operation failed. */
  async function doing<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      report(`${what}: ${(error as Error).message}`);
      const reason =
        isFailure(error, 'sandbox_provider') && (error.status === 0 || error.status >= 429)
          ? 'the provider of sandboxes does not answer'
          : `${what} failed`;
      throw new PlatformError('sandbox_unavailable', { reason }, { cause: error });
    }
  }

  async function find(key: string): Promise<ProviderMachine | null> {
    const id = ids.get(key);
    if (id !== undefined) {
      const known = await present(provider.read(id));
      if (known !== null) return known;
      ids.delete(key);
    }
    const found = (await provider.list(nameOf(key))).find(({ name }) => name === nameOf(key)) ?? null;
    if (found !== null) ids.set(key, found.id);
    return found;
  }

  async function untilRunning(key: string): Promise<ProviderMachine> {
    for (const end = Date.now() + deps.startMsMax; ;) {
      const machine = await find(key);
      if (machine === null) throw new PlatformError('sandbox_lost', { reason: 'the provider has no such machine' });
      if (machine.state === 'running') return machine;
      if (Date.now() > end)
        throw new PlatformError('sandbox_unavailable', {
          reason: `its machine did not run within ${deps.startMsMax} ms`,
        });
      await delay(POLL_MS);
    }
  }

  async function install(id: string): Promise<void> {
    if ((await run(id, program.isInstalled)).isDone) return;
    await provider.writeFile(id, INSTALL_FILE, program.install);
    const { isDone, output } = await run(id, ['/bin/sh', INSTALL_FILE]);
    if (!isDone) throw new Error(`the agent cannot be installed (${output.trim().slice(-300)})`);
  }

  /** The last line of the output is the exit code of the command, because the stream does not have one. */
  async function run(id: string, command: readonly string[]): Promise<{ isDone: boolean; output: string }> {
    const stream = await provider.exec(id, ['/bin/sh', '-c', '"$@" 2>&1; printf "\\n%s" "$?"', 'sh', ...command]);
    let output = '';
    for await (const chunk of stream as AsyncIterable<Buffer>) output = (output + chunk.toString()).slice(-10_000);
    return { isDone: output.endsWith('\n0'), output: output.replace(/\n\d+$/, '') };
  }

  async function remove(key: string): Promise<void> {
    const machine = await find(key);
    ids.delete(key);
    if (machine !== null) await provider.remove(machine.id);
  }

  return {
    provider: 'hosted',
    aiUrl: settings.aiUrl,
    check,
    checkCopy,
    // Always throws, because copies are not supported; callers check this first.
    copy: async () => checkCopy(),
    create: ({ key, place, options }) =>
      doing('making the sandbox', async () => {
        check(options);
        const refused = await mismatchOf(place.resource);
        if (refused !== null) throw new Error(refused);
        await remove(key);
        try {
          const { ttlSeconds } = settings;
          const { template } = templateOf(place.resource);
          const machineType = typeOf(options);
          const made = await created(provider.create({ name: nameOf(key), template, machineType, ttlSeconds }), key);
          ids.set(key, made.id);
          await untilRunning(key);
          await install(made.id);
        } catch (error) {
          await remove(key).catch(() => {});
          throw error;
        }
      }),
    resume: ({ key, options }: MachineSpec) =>
      doing('waking the sandbox', async () => {
        check(options);
        const machine = await find(key);
        if (machine === null) throw new PlatformError('sandbox_lost', { reason: 'its files are gone' });
        // A suspended machine resumes with its original options.
        if (machine.state === 'stopped' && machine.machineType !== typeOf(options))
          await provider.update(machine.id, { machineType: typeOf(options) });
        if (machine.state === 'suspended' || machine.state === 'stopped')
          await provider.resume(machine.id, settings.ttlSeconds);
        await untilRunning(key);
        await install(machine.id);
      }),
    suspend: (key) => doing('suspending the sandbox', () => halt(key, true)),
    stop: (key) => doing('stopping the sandbox', () => halt(key, false)),
    destroy: (key) => doing('destroying the sandbox', () => remove(key)),
    state: (key): Promise<MachineState> =>
      doing('looking at the sandbox', async () => {
        const state = (await find(key))?.state ?? 'absent';
        return state === 'starting' ? 'running' : state;
      }),
    keys: () =>
      doing('looking for sandboxes', async () =>
        (await provider.list(prefix)).map(({ name }) => name.slice(prefix.length)),
      ),
    connect: (key): Promise<Duplex> =>
      doing('reaching the sandbox', async () => {
        const id = ids.get(key) ?? (await find(key))?.id;
        if (id === undefined) throw new PlatformError('sandbox_lost', { reason: 'it does not run' });
        try {
          return await provider.exec(id, program.call);
        } catch (error) {
          if (!isFailure(error, 'sandbox_provider') || (error.status !== 404 && error.status !== 409)) throw error;
          throw new PlatformError('sandbox_lost', { reason: 'it does not run' });
        }
      }),
    checks: () => checkProvider(provider, settings, Date.now()),
    close: () => provider.close(),
  };

  /** If a repeated request fails because the machine exists, the first request has created it. */
  async function created(asked: Promise<ProviderMachine>, key: string): Promise<ProviderMachine> {
    try {
      return await asked;
    } catch (error) {
      const made = isFailure(error, 'sandbox_provider') && error.status === 409 ? await find(key) : null;
      if (made === null) throw error;
      return made;
    }
  }

  async function halt(key: string, keepsMemory: boolean): Promise<void> {
    const machine = await find(key);
    if (machine === null) return;
    if (machine.state === 'stopped' || (keepsMemory && machine.state === 'suspended')) return;
    await provider.stop(machine.id, keepsMemory);
  }
}

/** Null for 404. */
async function present<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (isFailure(error, 'sandbox_provider') && error.status === 404) return null;
    throw error;
  }
}
