// What the place of a build promises of the commands that run in it, whatever confines them. Run by
// build-commands.test.ts over confined processes, and over what stands in for them in tests.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { defaultLimits } from '#core/limits.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import type { ChildJob, ChildReport } from '#builder/steps/child.ts';
import { baseVariables } from '#builder/steps/environment.ts';
import { CHILD } from '#builder/steps/own-folders.ts';
import type { OpenFence, Fence, FencedCommand } from '#builder/steps/fence.ts';
import type { BuildRequest } from '#builder/steps/types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { openBuildPlace } from '#test/setup/confined-builds.ts';
import { until } from '#test/setup/until.ts';

interface BuildCommandsCase {
  readonly open: OpenFence;
  readonly confinement: Confinement;
}

const PATH = '/usr/local/bin:/usr/bin:/bin';

export function testBuildCommands(name: string, { open, confinement }: BuildCommandsCase): void {
  let work: string;
  let fence: Fence;
  let ending: AbortController;
  let cleanUp = (): void => {};
  const groups = new Set<number>();

  const reopen = async (): Promise<void> => {
    ending = new AbortController();
    // What a fence is opened with; of the rest of a request it knows nothing.
    const request = {
      workFolder: work,
      confinement,
      slot: process.pid % 256,
      limits: { ...defaultLimits.build, diskFreeBytesMin: 0 },
      signal: ending.signal,
      onProcessGroup(group: number) {
        groups.add(group);
        return () => groups.delete(group);
      },
    };
    fence = await open(request as unknown as BuildRequest);
  };
  const run = (script: string, more: Partial<FencedCommand> = {}): ReturnType<Fence['run']> =>
    fence.run({ words: ['sh', '-c', script], cwd: fence.folders.source, env: { PATH }, ...more });

  before(async () => {
    const place = openBuildPlace({ after: (cleanup) => void (cleanUp = cleanup as () => void) }, false);
    work = mkdtempSync(join(place.folder, 'work', 'build-'));
    await reopen();
  });
  after(async () => {
    await fence.close();
    cleanUp();
  });

  test(`${name}: a command ends with its code, or the signal that ended it, and what it wrote`, async () => {
    assert.deepEqual(await run('echo out; echo err >&2; exit 3'), {
      code: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    const killed = await run('kill -9 $$');
    assert.ok(killed.signal === 'SIGKILL' || killed.code === 128 + 9, JSON.stringify(killed));
  });

  test(`${name}: a command gets its folder, its variables and its input, and none of this process`, async () => {
    process.env['OF_THE_BUILDER'] = 'not for builds';
    const { stdout } = await run('pwd; cat; echo "[$OWN] [$LD_OWN] [$OF_THE_BUILDER]"', {
      env: { PATH, OWN: 'own', LD_OWN: 'own too' },
      input: 'typed\n',
    });
    delete process.env['OF_THE_BUILDER'];
    assert.equal(stdout, `${fence.folders.source}\ntyped\n[own] [own too] []\n`);
    assert.equal((await run('cat; echo end')).stdout, 'end\n');
  });

  test(`${name}: its folders are its own to write to`, async () => {
    const folders = Object.values(fence.folders);
    const { code, stderr } = await run('for folder in "$@"; do echo x > "$folder/file" || exit 1; done', {
      words: ['sh', '-c', 'for folder in "$@"; do echo x > "$folder/file" || exit 1; done', 'sh', ...folders],
    });
    assert.equal(code, 0, stderr);
  });

  test(`${name}: output is handed on as it comes, reports beside it`, async () => {
    const told: [string, boolean][] = [];
    let reports = '';
    const gate = join(fence.folders.tmp, 'gate');
    const running = run(`echo first; while [ ! -e ${gate} ]; do sleep 0.01; done; echo late >&2; echo told >&3`, {
      onOutput: (chunk, isError) => void told.push([chunk.toString(), isError]),
      onReport: (chunk) => (reports += chunk.toString()),
    });
    await until(() => told.length > 0);
    writeFileSync(gate, '');
    assert.deepEqual([(await running).stdout, reports], ['', 'told\n']);
    assert.deepEqual(told, [
      ['first\n', false],
      ['late\n', true],
    ]);
  });

  test(`${name}: who reads its output may end it by throwing`, async () => {
    let all = '';
    await run('echo read', { read: async (output) => void (all = await text(output)) });
    assert.equal(all, 'read\n');
    const enough = new Error('enough');
    const reading = run('while echo more; do :; done', {
      async read(output) {
        for await (const _ of output) throw enough;
      },
    });
    await assert.rejects(reading, enough);
  });

  test(`${name}: what a command leaves running is gone when it has ended`, async () => {
    // It holds the pipe of the output, whose end is waited for.
    assert.equal((await run('sleep 600 & echo left')).stdout, 'left\n');
    assert.deepEqual([...groups], []);
  });

  test(`${name}: the program of the platform bundles a worker after its command, and reports why it cannot`, async () => {
    const { source, artifact } = fence.folders;
    const program = async (build: string): Promise<{ output: string; reports: ChildReport[]; code: number | null }> => {
      const { config } = parseProjectConfig(`kind: worker\nbuild: ${build}\n`, { file: 'platform.yaml' });
      const job: ChildJob = {
        what: 'build',
        root: source,
        workspace: source,
        config: config!,
        artifacts: artifact,
        variables: { OWN: 'own' },
        outbound: fence.outbound,
        limits: defaultLimits,
      };
      let output = '';
      let reports = '';
      const { code } = await fence.run({
        words: [...nodeCommand(), ...nodeFlags, CHILD],
        cwd: source,
        env: baseVariables(fence.folders, []),
        input: JSON.stringify(job),
        onOutput: (chunk) => void (output += chunk.toString()),
        onReport: (chunk) => void (reports += chunk.toString()),
      });
      return {
        output,
        code,
        reports: reports
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as ChildReport),
      };
    };
    mkdirSync(join(source, 'src'));
    writeFileSync(join(source, 'src/index.ts'), 'export default { fetch: () => new Response("hello") };\n');
    if (fence.uid !== null) await fence.giveAway(source);
    const made = await program('echo $OWN $HOME $NODE_ENV');
    assert.deepEqual([made.code, made.output], [0, `own ${fence.folders.home} production\n`]);
    const [first, last] = made.reports;
    assert.deepEqual([made.reports.length, first, last!.what], [2, { what: 'made' }, 'artifact']);
    assert.ok(last!.what === 'artifact' && existsSync(join(artifact, last!.id, 'worker.js')));
    const failed = await program('echo no luck; exit 4');
    assert.deepEqual([failed.code, failed.output], [1, 'no luck\n']);
    assert.deepEqual(failed.reports, [
      {
        what: 'failed',
        code: 'command_failed',
        message: 'The build command "echo no luck; exit 4" ended with exit code 4:\nno luck',
      },
    ]);
  });

  test(`${name}: the end of the build ends its command, and no other begins`, async () => {
    const why = new Error('out of time');
    const running = run('echo begun; sleep 600 & wait', { onOutput: () => ending.abort(why) });
    await assert.rejects(running, why);
    await assert.rejects(run('true'), why);
    assert.deepEqual([...groups], []);
  });

  test(`${name}: nothing is left of its folders when it is closed`, async () => {
    const { folders } = fence;
    await fence.close();
    assert.deepEqual(
      Object.values(folders).filter((folder) => existsSync(folder)),
      [],
    );
    await reopen();
  });
}
