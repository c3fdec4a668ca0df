/** A user as a token names one. The same id in two organisations is two people. */
export interface Person {
  readonly userId: string;
  readonly organizationId: string;
}
