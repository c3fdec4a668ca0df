/**
 * Stands in for what this page cannot show: a page that is blank tells nobody what to do. Any program may write what it likes into the room, so
 * each part fails alone.
 */
import { Component, type ReactNode } from 'react';
import { randomId } from './random-id.ts';

interface TroubleProps {
  /** Of the card that is missing then, so that the others stay where they are. */
  readonly className?: string;
  readonly children: ReactNode;
}

export class Trouble extends Component<TroubleProps, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    const { children, className = '' } = this.props;
    if (!this.state.hasFailed) return children;
    return (
      <p className={`card empty ${className}`} role="alert">
        This page could not show what is here. <a href={location.href}>Load it again</a>, or{' '}
        <a href={`/?room=${randomId(8)}`}>open a new room</a>.
      </p>
    );
  }
}
