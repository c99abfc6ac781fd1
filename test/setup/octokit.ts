// Octokit, as far as tests call it. Its own declarations are 13 MB, a third of all text that the types of this
// repository would be made of: it is loaded by names that the compiler does not follow, and declared here.

/** What an app may ask of a Git host. */
interface OctokitClient {
  request(route: string, parameters?: Readonly<Record<string, string>>): Promise<{ readonly data: unknown }>;
}

/** An app, and what it may do where it is installed. */
interface OctokitApp {
  readonly octokit: OctokitClient;
  getInstallationOctokit(installationId: number): Promise<OctokitClient>;
}

/** Signs deliveries and checks signatures. */
interface OctokitWebhooks {
  sign(body: string): Promise<string>;
  verify(body: string, signature: string): Promise<boolean>;
}

const load = (name: string): Promise<unknown> => import(name);

/** An app of the host at `baseUrl`. */
export async function octokitApp(options: {
  readonly appId: string;
  readonly privateKey: string;
  readonly baseUrl: string;
}): Promise<OctokitApp> {
  const { App } = (await load('@octokit/app')) as {
    App: new (options: { appId: string; privateKey: string; Octokit: unknown }) => OctokitApp;
  };
  const { Octokit } = (await load('@octokit/core')) as { Octokit: { defaults(defaults: object): unknown } };
  const { appId, privateKey, baseUrl } = options;
  return new App({ appId, privateKey, Octokit: Octokit.defaults({ baseUrl }) });
}

/** Webhooks with a secret. */
export async function octokitWebhooks(secret: string): Promise<OctokitWebhooks> {
  const { Webhooks } = (await load('@octokit/webhooks')) as {
    Webhooks: new (options: { secret: string }) => OctokitWebhooks;
  };
  return new Webhooks({ secret });
}
