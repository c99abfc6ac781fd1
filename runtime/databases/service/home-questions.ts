// The requests between services while a project moves, and the hold of a project's requests in all processes of a
// service. Called by service.ts.
import { ops } from '../protocol/frames.ts';
import type { Moves } from '../homes/moves.ts';
import type { ShardProcess } from './shard-process.ts';

/** How long after the requested time a running process may still answer. */
const ANSWER_MS = 1000;

/** @returns undefined if this is not a request of a service. */
export function answerService(
  moves: Moves,
  op: number,
  project: string,
  args: Readonly<Record<string, unknown>>,
): Promise<object> | object | undefined {
  if (op === ops.adopt) return moves.adopt(project, args);
  if (op === ops.files) return moves.files(project, args['key']);
  if (op === ops.part) return moves.part(project, args);
  return undefined;
}

/** Holds the requests of a project. A process that does not answer, for example because it is stopped, is killed. */
export async function holdIn(shards: readonly ShardProcess[], project: string, msMax: number): Promise<string | null> {
  const problems = await Promise.all(
    shards.map(async (shard) => {
      const late = Promise.withResolvers<'late'>();
      const timer = setTimeout(() => late.resolve('late'), msMax + ANSWER_MS);
      const answer = await Promise.race([shard.ask({ type: 'hold', project, msMax }), late.promise]);
      clearTimeout(timer);
      if (answer !== 'late') return answer;
      await shard.kill();
      return null;
    }),
  );
  return problems.find((problem) => problem !== null) ?? null;
}
