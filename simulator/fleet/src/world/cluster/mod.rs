//! The cluster at work: kubelets, the controller that judges their Nodes, the signer of certificates, and pods.

mod attributes;
mod certificates;
mod health;
mod kubelets;
mod nodes;
mod pods;
mod software;
