// Icons of the sites of projects, for lists, in one response.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { listLiveArtifacts } from '../../records/projects.ts';
import { readSiteIcons } from '../../releases/site-icons.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { Id } from '../../http/schemas.ts';

const PROJECTS_MAX = 500;

export const projectIcons = platform<Dependencies, RequestState>().get(
  '/projects/icons',
  {
    ...needs('project:read'),
    tags: ['projects'],
    summary: 'Read the icons of the live sites of your projects',
    description:
      'The icon that `index.html` links to, or else `favicon.svg`, `favicon.ico` or `favicon.png`, of at most 32 KB. Projects without an icon are omitted. Only the 500 projects that were deployed last are included, up to 1 MB in total.',
    response: Type.Object({
      items: Type.Array(
        Type.Object({ projectId: Id, icon: Type.String({ description: 'A `data:` URL of an image' }) }),
      ),
    }),
  },
  async (ctx) => {
    const { access } = ctx.state;
    const { memberships, token } = access.account('project:read');
    const projectId = token?.projectId ?? null;
    if (projectId === null) access.everybody();
    else await access.project('project:read', projectId);
    const organizationIds = Object.keys(memberships).filter((id) => access.may('project:read', id, projectId));
    const live = await listLiveArtifacts(ctx.env.sql, { organizationIds, projectId }, PROJECTS_MAX);
    return { items: await readSiteIcons(ctx.env.folder, live) };
  },
);
