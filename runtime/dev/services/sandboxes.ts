// Sandboxes of `platform dev`: the same service as in production, in this process. The service is loaded and started
// with the first call, or if a killed dev has left sandboxes. Opened by dev.ts.
import type { SandboxTransport } from '../../engine/bindings/sandbox-transport.ts';
import { sandboxChoice } from './sandbox-choice.ts';
import { hasLeft, rowsFileOf } from './sandbox-rows.ts';
import type { LocalSandboxesDeps } from './sandbox-service.ts';

/** @throws {Error} if `PLATFORM_DEV_SANDBOX` is invalid. */
export function openLocalSandboxes(deps: LocalSandboxesDeps): SandboxTransport {
  const choice = sandboxChoice(deps.environment);
  let opened: Promise<SandboxTransport> | null = null;
  const open = (): Promise<SandboxTransport> =>
    (opened ??= import('./sandbox-service.ts')
      .then(({ startLocalSandboxes }) => startLocalSandboxes({ ...deps, choice }))
      .catch((error: unknown) => {
        opened = null;
        throw error;
      }));
  if (choice !== 'local' && hasLeft(rowsFileOf(deps.folder, 'container')))
    void open().catch((error: unknown) =>
      deps.log('warn', `sandboxes of an earlier dev were not stopped: ${(error as Error).message}`),
    );
  return {
    request: async (request) => (await open()).request(request),
    handshake: async (path) => (await open()).handshake(path),
    async close() {
      await (await opened?.catch(() => null))?.close();
    },
  };
}
