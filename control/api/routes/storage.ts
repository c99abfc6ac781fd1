// Storage: usage of an organization by kind and project, the limit of its plan, and removal of deleted projects' data.
import Type from '#core/typebox/typebox.mjs';
import { plans } from '#core/plans.ts';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { DATA_DAYS } from '../../records/stored-projects.ts';
import { readStorage, storageKinds } from '../../records/storage.ts';
import { storageLimitOf } from '../../storage/left.ts';
import { requestDataRemoval } from '../../releases/project-removal.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';

const tags = ['usage'];
const Kinds = Type.Array(Type.Object({ kind: Type.Enum([...storageKinds]), bytes: Type.Integer() }));
const Storage = Type.Object({
  plan: Type.Enum([...plans]),
  // Null: no limit.
  limitBytes: nullable(Type.Integer()),
  bytes: Type.Integer(),
  // Whether no more data is accepted, because the limit of the plan or the organization's share of the disk is reached.
  isFull: Type.Boolean(),
  // Null if not counted yet.
  countedAt: nullable(Timestamp),
  kinds: Kinds,
  // The largest first.
  projects: Type.Array(
    Type.Object({
      projectId: Id,
      name: Type.String(),
      isDeleted: Type.Boolean(),
      // When the data of a deleted project is removed; in the past while the removal is running.
      dataDueAt: nullable(Timestamp),
      bytes: Type.Integer(),
      kinds: Kinds,
    }),
  ),
});

export const storage = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/storage',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'Stored data of an organization, by kind and project',
      description:
        'The last count. The data is counted every minute, or less often so that counting takes at most 5 % of the time.',
      response: Storage,
    },
    async (ctx) => {
      const { plan, countedAt, ...kept } = await readStorage(ctx.env.sql, ctx.params.id);
      return {
        ...kept,
        plan,
        limitBytes: storageLimitOf(ctx.env.storage.limits, plan),
        countedAt: countedAt?.toISOString() ?? null,
        kinds: [...kept.kinds],
        projects: kept.projects.map((project) => ({
          ...project,
          dataDueAt: project.dataDueAt?.toISOString() ?? null,
          kinds: [...project.kinds],
        })),
      };
    },
  )
  .delete(
    '/orgs/:id/storage/:name',
    {
      ...needs('project:delete', 'organization'),
      tags,
      summary: 'Remove the data of a deleted project at once',
      description: `Otherwise it is removed ${DATA_DAYS} days after the project was deleted. Removal continues after the response.`,
      response: { 202: Type.Object({ projectId: Id, name: Type.String(), state: Type.Enum(['removing', 'removed']) }) },
    },
    async (ctx) => {
      const { id: organizationId, name } = ctx.params;
      const { id: projectId, state } = await requestDataRemoval(ctx.env, { organizationId, name }, ctx.state.audit);
      return ctx.json({ projectId, name, state }, 202);
    },
  );
