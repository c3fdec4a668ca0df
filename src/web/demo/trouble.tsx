/** Stands in for the room when this page cannot show it: a page that is blank tells nobody what to do. */
import { Component, type ReactNode } from 'react';
import { randomId } from './random-id.ts';

export class Trouble extends Component<{ readonly children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    const fresh = `/?room=${randomId(8)}`;
    return (
      <p className="card empty" role="alert">
        This page could not show the room. <a href={location.href}>Load it again</a>, or <a href={fresh}>open a new one</a>.
      </p>
    );
  }
}
