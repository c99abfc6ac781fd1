// Loaded into an engine before the engine's code (NODE_OPTIONS): a SIGUSR2 starts a CPU profile of the main thread, and
// the next one ends it and writes it to the file in BENCH_PROFILE_FILE. The engine itself is unchanged.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const SAMPLE_US = 200;
const file = process.env['BENCH_PROFILE_FILE'];
let session: Session | null = null;

process.on('SIGUSR2', () => {
  if (file === undefined) return;
  if (session === null) {
    session = new Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
    session.post('Profiler.start');
    return;
  }
  const ended = session;
  session = null;
  ended.post('Profiler.stop', (error, answer) => {
    ended.disconnect();
    // Whole or not at all: who waits for it looks whether it is there.
    writeFileSync(`${file}.new`, JSON.stringify(error === null ? answer.profile : { nodes: [], samples: [] }));
    renameSync(`${file}.new`, file);
  });
});
