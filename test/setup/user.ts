// A user's commands, run in this process, over a control plane on real sockets with its platform and a sandbox service.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { openSandboxService } from '#control/process/sandbox-service.ts';
import { serveApi } from '#control/process/servers.ts';
import { recordingShell, type RecordedUser, type RecordingShell } from '#test/unit/cli/recording-shell.ts';
import { createTestDatabase } from './postgres.ts';
import { startReleaseControl, type ReleaseControl } from './release-control.ts';
import { startTestSandboxService } from './sandbox-service.ts';

/** A user in the folder of a project. */
export interface TestUser {
  readonly all: ReleaseControl;
  /** Of the project. */
  readonly folder: string;
  /** Of the API. */
  readonly port: number;
  /** Variables of the user's shell. */
  readonly environment: Record<string, string>;
  /** Writes a file of the project. */
  file(name: string, text: string): void;
  /** Runs a command, as the owner or with another token. */
  call(words: readonly string[], user?: RecordedUser, token?: string): Promise<RecordingShell & { code: number }>;
  /** Runs one that succeeds. @returns what it prints. */
  ok(...words: string[]): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Starts all of it, with the project of the files deployed.
 *
 * @param options `stores`: what bindings of the project need; default true.
 */
export async function startUser(
  files: Readonly<Record<string, string>>,
  { stores = true }: { readonly stores?: boolean } = {},
): Promise<TestUser> {
  const [home, folder] = ['home-', 'project-'].map((name) => mkdtempSync(path.join(tmpdir(), name))) as [
    string,
    string,
  ];
  const database = stores ? await createTestDatabase() : null;
  const service = await startTestSandboxService();
  const hop = openSandboxService(service.address, 'https://*.apps.example.net')!;
  const all = await startReleaseControl(
    {},
    { sandboxes: hop },
    database === null ? { databases: false } : { postgres: database },
  );
  const api = createApi();
  const server = await serveApi({
    port: 0,
    host: '127.0.0.1',
    fetch: (request) => api.fetch(request, all.control.deps),
  });
  const environment = {
    PLATFORM_HOME: home,
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: all.control.owner.token,
  };
  const call: TestUser['call'] = async (words, user = {}, token = all.control.owner.token) => {
    const shell = recordingShell(folder, { ...environment, PLATFORM_API_TOKEN: token }, user);
    return Object.assign(shell, { code: await run(words, shell) });
  };
  const user: TestUser = {
    all,
    folder,
    port: server.port,
    environment,
    file(name, text) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), text);
    },
    call,
    async ok(...words) {
      const { code, output, errors } = await call(words);
      assert.equal(code, 0, [...output, ...errors].join('\n'));
      return output;
    },
    async close() {
      await server.close();
      await all.close();
      await hop.close();
      await service.close();
      await database?.close();
      for (const one of [home, folder]) rmSync(one, { recursive: true });
    },
  };
  for (const [name, text] of Object.entries(files)) user.file(name, text);
  await user.ok('deploy');
  return user;
}
