// post-receive hook of the platform's repositories: leaves a note of the push, notifies the API process, and prints its
// response: the build log, which Git shows to the user who pushed. A NUL after the log means that a deployment failed.
// Git ignores this hook's exit code, so a file reports the failure to http-backend.ts. If no API process runs, the note
// is handled when one starts.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';

const repository = path.resolve(process.env.GIT_DIR ?? '.');
const folder = path.dirname(repository);
const refs = readFileSync(0, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [before, after, name] = line.split(' ');
    return { before, after, name };
  });
const note = {
  repository: path.basename(repository, '.git'),
  account: process.env.PLATFORM_ACCOUNT ?? null,
  refs,
};
const name = `${randomUUID()}.json`;
mkdirSync(path.join(folder, 'pushes'), { recursive: true, mode: 0o700 });
writeFileSync(path.join(folder, 'pushes', `${name}.unfinished`), JSON.stringify(note), { mode: 0o600, flush: true });
renameSync(path.join(folder, 'pushes', `${name}.unfinished`), path.join(folder, 'pushes', name));

const connection = connect(readFileSync(path.join(folder, 'socket'), 'utf8').trim());
connection.on('error', () => {
  console.log('The platform is not running: it deploys the push at its next start');
});
connection.on('connect', () => connection.write(`${name}\n`));
connection.on('data', (bytes) => {
  const isFailed = bytes.at(-1) === 0;
  process.stdout.write(isFailed ? bytes.subarray(0, -1) : bytes);
  if (isFailed && process.env.PLATFORM_PUSH_FAILED)
    writeFileSync(process.env.PLATFORM_PUSH_FAILED, '', { mode: 0o600 });
});
