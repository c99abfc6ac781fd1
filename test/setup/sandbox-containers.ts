// Sandboxes as containers of the engine that `npm test -- sandbox` started, and what they leave on the machine.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { openContainerBackend, type ContainerBackendDeps } from '#sandbox/backends/container/backend.ts';
import { openEngineApi } from '#sandbox/backends/container/engine-api.ts';
import type { MachineSpec, SandboxBackend } from '#sandbox/backends/backend.ts';
import { NO_OPTIONS } from '#core/sandbox/options.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';
import type { OfferedCase } from '#test/contract/sandbox.ts';
import type { Offers } from '#test/contract/sandbox-options.ts';
import { padding, tarHeader } from '#core/archive/tar-header.ts';
import { SANDBOX_IMAGE } from './sandbox-engine.ts';

const runProgram = promisify(execFile);
export const socketPath = process.env['TEST_SANDBOX_SOCKET'] ?? '';
export const engineName = process.env['TEST_SANDBOX_ENGINE'] ?? '';

/** Containers of one installation. */
export interface TestContainers {
  readonly backend: SandboxBackend;
  /** What the backend told operators. */
  readonly reports: string[];
  /** A second service over the same machines, as after a restart. */
  again(): Promise<SandboxBackend>;
  close(): Promise<void>;
}

export async function openTestContainers(given: Partial<ContainerBackendDeps> = {}): Promise<TestContainers> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-disks-'));
  const reports: string[] = [];
  const policy = { loopback: false, private: false };
  const deps: ContainerBackendDeps = {
    socketPath,
    installation: `t${process.pid}`,
    image: SANDBOX_IMAGE,
    images: [],
    memoryMb: 512,
    processorsMax: 1,
    tasksMax: 128,
    temporaryMb: 64,
    diskFolder: folder,
    diskMb: 256,
    aiUrl: null,
    egress: { policy, lookup: guardedLookup(policy), hosts: null },
    answerMs: 60_000,
    report: (message) => void reports.push(message),
    ...given,
  };
  const backends = [
    await openContainerBackend(deps).catch((error: unknown) => {
      rmSync(folder, { recursive: true });
      throw error;
    }),
  ];
  return {
    backend: backends[0]!,
    reports,
    async again() {
      const backend = await openContainerBackend(deps);
      backends.push(backend);
      return backend;
    },
    async close() {
      const last = backends.at(-1)!;
      for (const key of await last.keys()) await last.destroy(key);
      for (const backend of backends) await backend.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Another image that sandboxes may ask for: the one of all tests, with a file. */
const TOOLS_IMAGE = 'platform-test-tools:3';
const TOOLS_MARK = '/opt/tools-mark';

async function makeToolsImage(): Promise<void> {
  const api = openEngineApi(socketPath);
  try {
    const { Id } = await api.call<{ Id: string }>('POST', '/containers/create', {
      Image: SANDBOX_IMAGE,
      Cmd: ['true'],
    });
    const bytes = Buffer.from('tools\n');
    const entries = [tarHeader('tools-mark', bytes.length), bytes, Buffer.alloc(padding(bytes.length) + 1024)];
    await api.upload(`/containers/${Id}/archive?path=/opt`, Readable.from(entries));
    await api.call('POST', `/commit?container=${Id}&repo=platform-test-tools&tag=3`, {});
    await api.call('DELETE', `/containers/${Id}?force=true`);
  } finally {
    api.close();
  }
}

/** A kind of machines for the contract of backends. */
export async function openTestContainerCase({ diskMb = 256 } = {}): Promise<OfferedCase> {
  await makeToolsImage();
  return { ...(await openTestContainers({ diskMb, images: [TOOLS_IMAGE] })), offers: containerOffers(diskMb) };
}

/** What containers make of options, as their control groups say it. */
function containerOffers(diskMb: number): Offers {
  const sizes = {
    small: '1 processors, 2048 MB, 512 tasks',
    default: '2 processors, 4096 MB, 1024 tasks',
    large: '4 processors, 8192 MB, 2048 tasks',
    xlarge: '8 processors, 16384 MB, 4096 tasks',
  };
  const isSmaller = (processors: number): boolean => availableParallelism() < processors;
  const refused = (name: string, processors: number, memoryMb: number): RegExp =>
    new RegExp(`machine "${name}" has ${processors} processors and ${memoryMb} MB, and where sandboxes run there are `);
  return {
    sizes: {
      async of(box) {
        const { stdout } = await box.exec(
          `cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null; echo;
           cat cpu.max 2>/dev/null || cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us | tr '\\n' ' '; echo;
           cat pids.max pids/pids.max 2>/dev/null`,
        );
        const [memory, processors, tasks] = stdout.split('\n').filter((line) => line.trim() !== '');
        const [quota, period] = processors!.split(' ').map(Number);
        return `${quota! / period!} processors, ${Number(memory) / 2 ** 20} MB, ${tasks} tasks`;
      },
      expected: { none: '1 processors, 512 MB, 128 tasks', ...sizes },
      refused: {
        ...(isSmaller(4) && { large: refused('large', 4, 8192) }),
        ...(isSmaller(8) && { xlarge: refused('xlarge', 8, 16_384) }),
      },
    },
    image: { name: TOOLS_IMAGE, mark: TOOLS_MARK },
    egress: 'narrows',
    copies: diskMb === 0 ? /sandboxes have no disks of their own here \(SANDBOX_DISK_MB=0\)$/ : true,
  };
}

let machines = 0;

export function machine(project = 'shop'): MachineSpec {
  const id = `m${process.pid}x${++machines}`;
  return { key: id, place: { project, resource: 'work', id }, options: NO_OPTIONS };
}

/** What there is on this machine and in the engine that sandboxes are made of, but for the volume of their program. */
export async function machineThings(): Promise<Readonly<Record<string, readonly string[]>>> {
  const api = openEngineApi(socketPath);
  try {
    const containers = await api.call<{ Id: string }[]>('GET', '/containers/json?all=1');
    const { Volumes } = await api.call<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
    const networks = await api.call<{ Name: string }[]>('GET', '/networks');
    const { stdout } = await runProgram('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE']);
    return {
      containers: containers.map(({ Id }) => Id).toSorted(),
      volumes: (Volumes ?? [])
        .map(({ Name }) => Name)
        .filter((name) => !name.includes('-program-'))
        .toSorted(),
      networks: networks.map(({ Name }) => Name).toSorted(),
      loops: stdout
        .split('\n')
        .filter((line) => line.includes('sandbox-disks-'))
        .toSorted(),
      mounts: readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .filter((line) => line.includes('platform-sandbox-')),
    };
  } finally {
    api.close();
  }
}
