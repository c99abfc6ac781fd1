// Started by `npm test -- compose`: one engine for all of it, the images, then the push of test/e2e against the
// compose files, each capability on both, servers for Node, sandboxes, three handlers, certificates. With words, the
// images and the files with one of them in their names (`push` is the one of test/e2e). Says why where it cannot run;
// with CI=true that is a failure.
import { runTestFiles } from '#cli/tasks/suites/test-files.ts';
import { refuses } from '#cli/tasks/suites/words.ts';
import { noDockerReason, startDockerEngine } from '#test/setup/docker-engine.ts';

const FILES = ['images', 'capabilities', 'servers', 'sandboxes', 'handlers', 'https'].map(
  (name) => `test/compose/${name}.test.ts`,
);

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<number> {
  const picks = (word: string): boolean => word === 'push' || FILES.some((file) => file.includes(word));
  if (refuses('npm test -- compose', words, picks, ['push', ...FILES])) return 2;
  const reason = await noDockerReason();
  if (reason !== null) {
    process.stdout.write(`The compose files are not tested: ${reason}\n`);
    return process.env['CI'] === 'true' ? 1 : 0;
  }
  const engine = await startDockerEngine();
  // Nothing stays when its time is over. They may come twice: to the group, and from who started us.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => void engine.close().finally(() => process.exit(1)));
  try {
    process.env['DOCKER_HOST'] = engine.host;
    process.env['TEST_GIT_HOST_ADDRESS'] = engine.machineAddress;
    const options = words.filter((word) => word.startsWith('--'));
    const named = words.filter((word) => !word.startsWith('--'));
    const isWanted = (file: string): boolean => named.length === 0 || named.some((word) => file.includes(word));
    const first = await runTestFiles([FILES[0]!], [...options, '--always']);
    if (first !== 0) return first;
    process.env['TEST_COMPOSE_BUILT'] = '1';
    let code = 0;
    for (const files of isWanted('push') ? ['compose.yaml', 'compose.split.yaml'] : []) {
      process.stdout.write(`\n${files}: the push of test/e2e, unchanged\n`);
      process.env['TEST_COMPOSE'] = files;
      code = (await runTestFiles(['test/e2e/push-to-deploy.test.ts'], options)) || code;
    }
    delete process.env['TEST_COMPOSE'];
    // One at a time: each is an installation of its own.
    for (const file of FILES.slice(1).filter(isWanted)) code = (await runTestFiles([file], options)) || code;
    return code;
  } finally {
    await engine.close();
  }
}
