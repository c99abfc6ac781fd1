// `platform dev` over a container engine: its sandboxes are fenced, end with it and keep their files.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startDev, type TestDev, type TestDevProgram } from '#test/setup/dev.ts';
import { engineName, machineThings, socketPath } from '#test/setup/sandbox-containers.ts';
import { SANDBOX_IMAGE } from '#test/setup/sandbox-engine.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const WORKER = `
export default {
  async fetch(request, { BOX }) {
    const box = BOX.get('one');
    try {
      const command = await request.text();
      if (command === 'destroy') return Response.json(await box.destroy());
      const { stdout, stderr } = await box.exec(command);
      return Response.json({ stdout, stderr, provider: (await box.info()).provider });
    } catch (error) { return Response.json({ code: error.code, message: error.message }); }
  },
};`;

describe(`platform dev over ${engineName}`, { concurrency: false }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-dev-'));
  let things: Awaited<ReturnType<typeof machineThings>>;
  const engine = { DOCKER_HOST: `unix://${socketPath}`, SANDBOX_DEFAULT_IMAGE: SANDBOX_IMAGE };
  const start = (environment: Record<string, string>): Promise<TestDevProgram> =>
    startDev(folder, [], undefined, { PLATFORM_DEV_SANDBOX: '', ...environment });
  const run = async (dev: TestDev, command: string): Promise<Record<string, unknown>> =>
    (await dev.fetch('/', { method: 'POST', body: command })).json() as never;

  /** A session of its own for a test. */
  async function withDev(environment: Record<string, string>, act: (dev: TestDev) => Promise<void>): Promise<void> {
    const dev = await start(environment);
    try {
      await act(dev);
    } finally {
      await dev.close();
    }
  }

  before(async () => {
    things = await machineThings();
    mkdirSync(path.join(folder, 'src'));
    writeFileSync(path.join(folder, 'package.json'), '{"name":"boxes","type":"module"}');
    writeFileSync(path.join(folder, 'src/index.js'), WORKER);
    writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\nsandbox:\n  BOX: boxes\n');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has containers where the engine has the image, and says so', () =>
    withDev(engine, async (dev) => {
      assert.deepEqual(await run(dev, 'id -u; hostname; ls /sys/class/net; echo kept > kept.txt'), {
        stdout: '1000\nsandbox\nlo\n',
        stderr: '',
        provider: 'container',
      });
      await dev.printed(new RegExp(`sandboxes run as containers of the engine at ${socketPath}`));
      assert.equal((await machineThings())['containers']!.length, things['containers']!.length + 1);
    }));

  it('has the AI gateway of dev inside, by a token in a file', () =>
    withDev(engine, async (dev) => {
      const { stdout } = await run(
        dev,
        `curl -s -m 60 -H "authorization: Bearer $(platform-ai-token)" -H 'content-type: application/json' ` +
          `-d '{"model":"auto","messages":[{"role":"user","content":"six times seven"}]}' "$PLATFORM_AI_URL/chat/completions"; ` +
          'echo; echo "$PLATFORM_AI_TOKEN_FILE"; test "$(platform-ai-token)" = "$(cat /run/platform/ai-token)" && echo same',
      );
      assert.match(String(stdout), /"object":"chat\.completion".*six times seven/);
      assert.match(String(stdout), /\n\/run\/platform\/ai-token\nsame\n$/);
    }));

  it('leaves no container behind, and finds the files the next time', async () => {
    assert.deepEqual((await machineThings())['containers'], things['containers']);
    await withDev(engine, async (dev) => {
      assert.equal((await run(dev, 'cat kept.txt'))['stdout'], 'kept\n');
    });
  });

  it('that is killed leaves containers for the next one to end', async () => {
    const dev = await start(engine);
    assert.equal((await run(dev, 'sleep 600 > /dev/null 2>&1 & cat kept.txt'))['stdout'], 'kept\n');
    await dev.kill();
    await withDev(engine, async (next) => {
      // Before any call.
      await eventually('its containers end', async () => {
        assert.deepEqual((await machineThings())['containers'], things['containers']);
        return true;
      });
      assert.equal((await run(next, 'cat kept.txt; pgrep sleep'))['stdout'], 'kept\n');
    });
  });

  it('has processes where the image is missing, and says how to make it', () =>
    withDev({ ...engine, SANDBOX_DEFAULT_IMAGE: 'nobody/has-this:1' }, async (dev) => {
      assert.equal((await run(dev, 'cat kept.txt'))['provider'], 'local');
      await dev.printed(
        /do NOT isolate.* has no image nobody\/has-this:1\. Make it.*build -f \S+Dockerfile\.sandbox -t/,
      );
    }));

  it('has processes where no engine answers, or where it is told to', async () => {
    await withDev({ DOCKER_HOST: 'unix:///nowhere/engine.sock' }, async (dev) => {
      assert.equal((await run(dev, 'true'))['provider'], 'local');
      await dev.printed(/do NOT isolate.* No container engine answers at unix:\/\/\/nowhere\/engine\.sock/);
    });
    await withDev({ ...engine, PLATFORM_DEV_SANDBOX: 'local' }, async (dev) => {
      assert.equal((await run(dev, 'true'))['provider'], 'local');
      await dev.printed(/do NOT isolate.* PLATFORM_DEV_SANDBOX=local says so/);
    });
  });

  it('has none where they have to be containers, and no engine answers', () =>
    withDev({ DOCKER_HOST: 'unix:///nowhere/engine.sock', PLATFORM_DEV_SANDBOX: 'container' }, async (dev) => {
      const { code, message } = await run(dev, 'true');
      assert.equal(code, 'sandbox_unavailable');
      assert.match(String(message), /No container engine answers at unix:\/\/\/nowhere\/engine\.sock/);
    }));

  it('leaves nothing of a sandbox that was destroyed', async () => {
    await withDev(engine, async (dev) => void (await run(dev, 'destroy')));
    assert.deepEqual(await machineThings(), things);
  });

  it('refuses another word than it knows', async () => {
    await assert.rejects(
      start({ PLATFORM_DEV_SANDBOX: 'docker' }),
      /PLATFORM_DEV_SANDBOX is "docker": it must be container or local/,
    );
  });
});
