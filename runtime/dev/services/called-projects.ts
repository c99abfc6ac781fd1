// The deployments that `platform dev` serves: the deployment of the project, and those of the projects in the workspace
// that it calls.
import { basename, dirname } from 'node:path';
import { openArtifact, type OpenArtifact } from '#artifacts/artifact-source.ts';
import type { Route } from '../../engine/router/project-routes.ts';
import type { DevMigrations, DevService } from '../contract/dev-engine.ts';

interface CalledProject {
  readonly route: Route;
  readonly artifact: OpenArtifact;
}

/** Opens an artifact that the builder has written. */
export function openBuilt(artifactFolder: string): OpenArtifact {
  return openArtifact(dirname(dirname(artifactFolder)), basename(artifactFolder));
}

/** The route of a project in development. @param namespace the namespace of its resources, and also its organization */
export function devRoute(
  namespace: string,
  project: string,
  artifact: OpenArtifact,
  vars: Readonly<Record<string, string>>,
): Route {
  return {
    project,
    deployment: `d${artifact.id.slice(0, 12)}`,
    artifact: artifact.id,
    plan: 'free',
    vars,
    owner: { organization: namespace, project },
    branch: 'dev',
    // Applies migrations of a project before it is served.
    preview: null,
  };
}

export class CalledProjects {
  #namespace: string;
  #migrate: (migrations: readonly DevMigrations[]) => Promise<void>;
  #called: readonly CalledProject[] = [];

  constructor(namespace: string, migrate: (migrations: readonly DevMigrations[]) => Promise<void>) {
    this.#namespace = namespace;
    this.#migrate = migrate;
  }

  /** Serves these projects from now on; unchanged projects keep their isolates. */
  async open(services: readonly DevService[]): Promise<void> {
    const called: CalledProject[] = [];
    for (const { project, artifactFolder, vars, migrations } of services) {
      await this.#migrate(migrations);
      const artifact = openBuilt(artifactFolder);
      const route = devRoute(this.#namespace, project, artifact, vars);
      const same = this.#called.find((one) => JSON.stringify(one.route) === JSON.stringify(route));
      called.push(same ?? { route, artifact });
    }
    this.#called = called;
  }

  get routes(): readonly Route[] {
    return this.#called.map(({ route }) => route);
  }

  /** The route of a project; undefined if it is not called. */
  route(project: string): Route | undefined {
    return this.routes.find((route) => route.project === project);
  }

  /** An artifact by its id; undefined if no called project has it. */
  artifact(id: string): OpenArtifact | undefined {
    return this.#called.find(({ artifact }) => artifact.id === id)?.artifact;
  }
}
