// Homes of project databases, for the operator of the installation: which machine has the databases of a project, and
// moves to another machine.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../../http/errors.ts';
import { nullable } from '../../http/schemas.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { askForMove, databaseMachines, readDatabaseHome, type DatabaseHomeRow } from '../../records/database-homes.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const tags = ['operator'];
const Home = Type.Object({
  project: Type.String(),
  machine: Type.String({ description: 'Machine that stores the databases and durable objects of the project' }),
  state: Type.Enum(['serving', 'restoring'], {
    description: '`restoring`: the previous machine was lost, and its replicas are being restored',
  }),
  movingTo: nullable(Type.String({ description: 'Machine to which the databases are moving' })),
  problem: nullable(Type.String({ description: 'Reason why the last move failed' })),
});

export const databaseHomes = platform<Dependencies, RequestState>()
  .get(
    '/operator/database-homes/:project',
    {
      ...needs('operator'),
      tags,
      summary: 'Show which machine has the databases of a project',
      response: Home,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const home = await readDatabaseHome(ctx.env.sql, ctx.params.project);
      if (home === undefined) throw new ApiError('not_found');
      return toHome(home);
    },
  )
  .post(
    '/operator/database-homes/:project/move',
    {
      ...needs('operator'),
      tags,
      summary: 'Move the databases of a project to another machine',
      description:
        'Its present machine moves them within seconds. Requests wait meanwhile, and none fails. `machine` is the new one when it has happened; `problem` says why it has not.',
      body: Type.Object({ machine: Type.String({ maxLength: 63 }) }),
      response: Home,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { project } = ctx.params;
      const { machine } = ctx.body;
      return ctx.env.sql.begin(async (tx) => {
        const home = await readDatabaseHome(tx, project);
        if (home === undefined) throw new ApiError('not_found');
        if (home.machine === machine) return toHome(home);
        const machines = await databaseMachines(tx);
        if (!machines.includes(machine))
          throw new ApiError('conflict', {
            reason: `No machine ${machine} takes project databases: there are ${machines.join(', ') || 'none'}`,
          });
        await askForMove(tx, project, machine);
        await ctx.state.audit(tx, {
          organizationId: null,
          action: 'database.move',
          subjectKind: 'project',
          subjectId: project,
          details: { from: home.machine, machine },
        });
        return toHome({ ...home, move_to: machine, move_problem: null });
      });
    },
  );

function toHome({ project, machine, state, move_to: movingTo, move_problem: problem }: DatabaseHomeRow) {
  return { project, machine, state, movingTo, problem };
}
