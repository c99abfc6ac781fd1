// Describes the machine and commit of a measurement. Not packed.
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';

/** Processor, memory, kernel and Node: `2 cores of Intel Xeon, 24 GB of memory, Linux 6.18.0, Node 24.21.0`. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() || 'an unknown processor';
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`;
  return `${availableParallelism()} cores of ${model}, ${memory}, Linux ${release()}, Node ${process.versions.node}`;
}

/** Files that measurements write. */
const MEASURED = [':!bench/results', ':!test/costs.json'];

/** The short name of the commit of a checkout, and whether files differ from it, except for results of measurements. */
export function describeCommit(folder: string): string {
  try {
    const git = (...words: string[]): string =>
      execFileSync('git', words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const commit = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no', '--', '.', ...MEASURED) === ''
      ? commit
      : `${commit} with changes`;
  } catch {
    return 'no commit';
  }
}

/** Time of a measurement, to the minute: `2026-11-23 04:00 UTC`. */
export function describeTime(time: Date = new Date()): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
