// Layout of the pages of analytics: tabs and project.
import type { ReactNode } from 'react';
import { Page } from '../../components/page.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import type { Project } from '../../queries/account.ts';
import { WithProject } from '../../shell/with-project.tsx';

interface AnalyticsFrameProps {
  readonly title: string;
  readonly children: (project: Project) => ReactNode;
}

export function AnalyticsFrame({ title, children }: AnalyticsFrameProps) {
  return (
    <Page title={title} heading="Analytics">
      <TabLinks label="Analytics">
        <TabLink
          to="/projects/$project/analytics"
          from="/projects/$project"
          activeOptions={{ exact: true, includeSearch: false }}
        >
          Requests
        </TabLink>
        <TabLink
          to="/projects/$project/analytics/usage"
          from="/projects/$project"
          activeOptions={{ includeSearch: false }}
        >
          CPU budgets
        </TabLink>
      </TabLinks>
      <WithProject>{children}</WithProject>
    </Page>
  );
}
