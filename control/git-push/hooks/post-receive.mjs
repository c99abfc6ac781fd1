// post-receive of a repository of the platform: tells the API process what was pushed, and prints what it answers: the
// build log, which Git shows in the terminal of whoever pushed.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';

const repository = path.resolve(process.env.GIT_DIR ?? '.');
const socket = readFileSync(path.join(path.dirname(repository), 'socket'), 'utf8').trim();
const refs = readFileSync(0, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [before, after, name] = line.split(' ');
    return { before, after, name };
  });
const connection = connect(socket);
connection.on('error', () => {
  console.log('The platform does not run: what was pushed is kept, push again to deploy it');
});
connection.on('connect', () =>
  connection.write(
    `${JSON.stringify({ repository: path.basename(repository, '.git'), push: process.env.PLATFORM_PUSH ?? null, refs })}\n`,
  ),
);
connection.on('data', (bytes) => process.stdout.write(bytes));
