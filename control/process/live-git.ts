// The current Git host with GitHub's API: configured by variables, or the application that an operator has created in
// the dashboard while the platform runs.
import type { GitConfiguration } from '#git/configuration.ts';
import { openApplication, type Application } from '#git/host/application.ts';
import type { GitHost } from '#git/host/connection.ts';
import type { LiveSettings } from './live-settings.ts';

type Source = Pick<LiveSettings, 'application'>;

/** The configuration with the application that was created last. */
export function liveGit(git: GitConfiguration, settings: Source): GitConfiguration {
  let opened: { readonly of: Application; readonly host: GitHost } | null = null;
  const hostOf = (application: Application): GitHost => {
    // The opened application caches tokens of installations.
    if (opened?.of !== application) opened = { of: application, host: openApplication(application, git.privateHosts) };
    return opened.host;
  };
  return {
    privateHosts: git.privateHosts,
    get gitHost() {
      const application = settings.application();
      return application === null ? git.gitHost : hostOf(application);
    },
    get webhookSecret() {
      return settings.application()?.webhookSecret ?? git.webhookSecret;
    },
  };
}
