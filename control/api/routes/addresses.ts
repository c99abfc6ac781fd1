// Public addresses of this platform, from which clients build commands and links.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const Addresses = Type.Object({
  // Addresses have no trailing slash.
  api: Type.String(),
  dashboard: Type.String(),
  // Address of the project <project>.
  projects: Type.String(),
  // Git host whose repositories can be connected, or null.
  gitHost: Type.Union([Type.String(), Type.Null()]),
});

export const addresses = platform<Dependencies, RequestState>().get(
  '/addresses',
  { ...needs('account:read'), summary: 'Read the URLs of API, dashboard and projects', response: Addresses },
  async (ctx) => {
    ctx.state.access.account('account:read');
    const { api, ui, protocol, domain, port } = ctx.env.addresses;
    return {
      api,
      dashboard: ui,
      projects: `${protocol}://<project>.${domain}${port === null ? '' : `:${port}`}`,
      gitHost: ctx.env.git.gitHost?.url ?? null,
    };
  },
);
