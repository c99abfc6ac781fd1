// The management API as one typed app: the middleware of all routes (middleware.ts), then one file per resource from
// routes/. The CLI and the dashboard derive their typed clients from this app.
import { platform } from '#packages/worker/index.ts';
import { resources } from '#resources/app.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { failureOf, FailureSchema } from '../http/failures.ts';
import { account } from './routes/account.ts';
import { addresses } from './routes/addresses.ts';
import { resourceAccess } from './resources/resource-access.ts';
import { admitted, API_VERSION, named, type RequestState } from './request/middleware.ts';
import { deployHooks } from './routes/deploy-hooks.ts';
import { gitHost } from './routes/git-host.ts';
import { gitHosts } from './routes/git-hosts.ts';
import { health } from './routes/health.ts';
import { oauth } from './routes/oauth.ts';
import { projectIcons } from './routes/project-icons.ts';
import { projects } from './routes/projects.ts';
import { migrations } from './routes/migrations.ts';
import { releases } from './routes/releases.ts';
import { invocations } from './routes/invocations.ts';
import { logs } from './routes/logs.ts';
import { collector } from './routes/collector.ts';
import { calls } from './routes/calls.ts';
import { traces } from './routes/traces.ts';
import { uploads } from './routes/uploads.ts';
import { remotes } from './routes/remotes.ts';
import { repositories } from './routes/repositories.ts';
import { createEventStreams } from './events/event-stream.ts';
import { operatorAlerts, organizationAlerts, projectAlerts } from './routes/alerts.ts';
import { audit } from './routes/audit.ts';
import { deployments } from './routes/deployments.ts';
import { aiDevToken } from './routes/ai-dev-token.ts';
import { aiKeys } from './routes/ai-keys.ts';
import { aiProviders } from './routes/ai-providers.ts';
import { aiSettings } from './routes/ai-settings.ts';
import { aiUsage } from './routes/ai-usage.ts';
import { analytics } from './routes/analytics.ts';
import { drains } from './routes/drains.ts';
import { domains } from './routes/domains.ts';
import { invitations } from './routes/invitations.ts';
import { databaseHomes } from './routes/database-homes.ts';
import { machines } from './routes/machines.ts';
import { members } from './routes/members.ts';
import { operator } from './routes/operator.ts';
import { operatorSetup } from './routes/operator-setup.ts';
import { operatorSettings } from './routes/operator-settings.ts';
import { operatorMail } from './routes/operator-mail.ts';
import { organizations } from './routes/organizations.ts';
import { storage } from './routes/storage.ts';
import { templates } from './routes/templates.ts';
import { tokens } from './routes/tokens.ts';
import { usage } from './routes/usage.ts';
import { webhooks } from './routes/webhooks.ts';
import { variables } from './routes/variables.ts';

/** The API. @example serve({ fetch: (request) => createApi().fetch(request, parts) }) */
export function createApi() {
  return platform<Dependencies>()
    .use(named)
    .use(admitted)
    .onError((error, ctx) =>
      failureOf(error, {
        log: ctx.env.log,
        requestId: ctx.state.requestId ?? '',
        method: ctx.req.method,
        route: ctx.route,
      }),
    )
    .openapi({
      path: '/openapi.json',
      info: { title: 'Platform API', version: API_VERSION },
      ui: '/docs',
      cli: 'platform api',
      failure: FailureSchema,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Created by `platform auth login` or POST /tokens' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'platform-session',
          description: 'Session of the dashboard; requests that change something need its Origin',
        },
      },
    })
    .route('/', health)
    .route('/', organizations)
    .route('/', members)
    .route('/', invitations)
    .route('/', projects)
    .route('/', projectIcons)
    .route('/', templates)
    .route('/', migrations)
    .route('/', releases)
    .route('/', uploads)
    .route('/', deployments(createEventStreams('build logs')))
    .route('/', variables)
    .route('/', domains)
    .route('/', tokens)
    .route('/', audit)
    .route('/', usage)
    .route('/', analytics)
    .route('/', storage)
    .route('/', operator)
    .route('/', operatorMail)
    .route('/', operatorSettings)
    .route('/', operatorSetup)
    .route('/', machines)
    .route('/', databaseHomes)
    .route(
      '/',
      platform<Dependencies, RequestState>()
        .state((ctx) => ({ resources: resourceAccess(ctx.env, ctx.state as RequestState) }))
        .route('/', resources),
    )
    .route('/', logs(createEventStreams('logs')))
    .route('/', invocations)
    .route('/', traces)
    .route('/', calls)
    .route('/', drains)
    .route('/', collector)
    .route('/', aiSettings)
    .route('/', aiProviders)
    .route('/', aiKeys)
    .route('/', aiDevToken)
    .route('/', aiUsage)
    .route('/', projectAlerts)
    .route('/', organizationAlerts)
    .route('/', operatorAlerts)
    .route('/', account)
    .route('/', addresses)
    .route('/', webhooks)
    .route('/', oauth)
    .route('/', gitHost)
    .route('/', gitHosts)
    .route('/', repositories)
    .route('/', remotes)
    .route('/', deployHooks)
    .build();
}

/** For typed clients: `createClient<ControlApi>(apiUrl)`. */
export type ControlApi = ReturnType<typeof createApi>;
