#include "wire/aws/managed_policies.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace drover::aws {
namespace {

/// Lists are separated by spaces.
struct GrantedActions {
  std::string_view actions;
  std::string_view resources = "*";
  std::string_view key = {};  // StringEquals: this key has one of the values
  std::string_view values = {};
  Listing listing = Listing::only_these;
};

struct ManagedEntry {
  std::string_view path;
  std::string_view name;
  std::vector<GrantedActions> statements;
};

std::vector<ManagedEntry> managed_entries() {
  constexpr std::string_view kRoot = "/";
  constexpr std::string_view kServiceRole = "/service-role/";
  return {
      {kRoot,
       "AWSBatchFullAccess",
       {{"batch:* cloudwatch:GetMetricStatistics ec2:DescribeSubnets ec2:DescribeSecurityGroups ec2:DescribeKeyPairs "
         "ec2:DescribeVpcs ec2:DescribeImages ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions "
         "ecs:Describe* ecs:List* eks:DescribeCluster eks:ListClusters logs:Describe* logs:Get* logs:TestMetricFilter "
         "logs:FilterLogEvents iam:ListInstanceProfiles iam:ListRoles"},
        {"iam:PassRole",
         "arn:aws:iam::*:role/AWSBatchServiceRole arn:aws:iam::*:role/service-role/AWSBatchServiceRole "
         "arn:aws:iam::*:role/ecsInstanceRole arn:aws:iam::*:instance-profile/ecsInstanceRole "
         "arn:aws:iam::*:role/iaws-ec2-spot-fleet-role arn:aws:iam::*:role/aws-ec2-spot-fleet-role "
         "arn:aws:iam::*:role/AWSBatchJobRole*"},
        {"iam:CreateServiceLinkedRole", "arn:aws:iam::*:role/*Batch*", "iam:AWSServiceName", "batch.amazonaws.com"}}},
      {kServiceRole,
       "AWSBatchServiceRole",
       {{"ec2:DescribeAccountAttributes ec2:DescribeInstances ec2:DescribeInstanceStatus ec2:DescribeInstanceAttribute "
         "ec2:DescribeSubnets ec2:DescribeSecurityGroups ec2:DescribeKeyPairs ec2:DescribeImages "
         "ec2:DescribeImageAttribute ec2:DescribeSpotInstanceRequests ec2:DescribeSpotFleetInstances "
         "ec2:DescribeSpotFleetRequests ec2:DescribeSpotPriceHistory ec2:DescribeSpotFleetRequestHistory "
         "ec2:DescribeVpcClassicLink ec2:DescribeLaunchTemplateVersions ec2:CreateLaunchTemplate "
         "ec2:DeleteLaunchTemplate ec2:RequestSpotFleet ec2:CancelSpotFleetRequests ec2:ModifySpotFleetRequest "
         "ec2:TerminateInstances ec2:RunInstances autoscaling:DescribeAccountLimits "
         "autoscaling:DescribeAutoScalingGroups autoscaling:DescribeLaunchConfigurations "
         "autoscaling:DescribeAutoScalingInstances autoscaling:DescribeScalingActivities "
         "autoscaling:CreateLaunchConfiguration autoscaling:CreateAutoScalingGroup autoscaling:UpdateAutoScalingGroup "
         "autoscaling:SetDesiredCapacity autoscaling:DeleteLaunchConfiguration autoscaling:DeleteAutoScalingGroup "
         "autoscaling:CreateOrUpdateTags autoscaling:SuspendProcesses autoscaling:PutNotificationConfiguration "
         "autoscaling:TerminateInstanceInAutoScalingGroup ecs:DescribeClusters ecs:DescribeContainerInstances "
         "ecs:DescribeTaskDefinition ecs:DescribeTasks ecs:ListAccountSettings ecs:ListClusters "
         "ecs:ListContainerInstances ecs:ListTaskDefinitionFamilies ecs:ListTaskDefinitions ecs:ListTasks "
         "ecs:CreateCluster ecs:DeleteCluster ecs:RegisterTaskDefinition ecs:DeregisterTaskDefinition ecs:RunTask "
         "ecs:StartTask ecs:StopTask ecs:UpdateContainerAgent ecs:DeregisterContainerInstance logs:CreateLogGroup "
         "logs:CreateLogStream logs:PutLogEvents logs:DescribeLogGroups iam:GetInstanceProfile iam:GetRole"},
        {"ecs:TagResource", "arn:aws:ecs:*:*:task/*_Batch_*"},
        {"iam:PassRole", "*", "iam:PassedToService", "ec2.amazonaws.com ec2.amazonaws.com.cn ecs-tasks.amazonaws.com"},
        {"iam:CreateServiceLinkedRole", "*", "iam:AWSServiceName",
         "spot.amazonaws.com spotfleet.amazonaws.com autoscaling.amazonaws.com ecs.amazonaws.com"},
        {"ec2:CreateTags", "*", "ec2:CreateAction", "RunInstances"}}},
      {kRoot, "AdministratorAccess", {{"*"}}},
      {kRoot,
       "AmazonEC2ContainerRegistryReadOnly",
       {{"ecr:GetAuthorizationToken ecr:BatchCheckLayerAvailability ecr:GetDownloadUrlForLayer "
         "ecr:GetRepositoryPolicy ecr:DescribeRepositories ecr:ListImages ecr:DescribeImages ecr:BatchGetImage "
         "ecr:GetLifecyclePolicy ecr:GetLifecyclePolicyPreview ecr:ListTagsForResource "
         "ecr:DescribeImageScanFindings"}}},
      {kServiceRole,
       "AmazonEC2ContainerServiceAutoscaleRole",
       {{"ecs:DescribeServices ecs:UpdateService cloudwatch:DescribeAlarms cloudwatch:PutMetricAlarm"}}},
      {kServiceRole,
       "AmazonEC2ContainerServiceRole",
       {{"ec2:AuthorizeSecurityGroupIngress ec2:Describe* elasticloadbalancing:DeregisterInstancesFromLoadBalancer "
         "elasticloadbalancing:DeregisterTargets elasticloadbalancing:Describe* "
         "elasticloadbalancing:RegisterInstancesWithLoadBalancer elasticloadbalancing:RegisterTargets"}}},
      {kServiceRole,
       "AmazonEC2ContainerServiceforEC2Role",
       {{"ec2:DescribeTags ecs:CreateCluster ecs:DeregisterContainerInstance ecs:DiscoverPollEndpoint ecs:Poll "
         "ecs:RegisterContainerInstance ecs:StartTelemetrySession ecs:UpdateContainerInstancesState ecs:Submit* "
         "ecr:GetAuthorizationToken ecr:BatchCheckLayerAvailability ecr:GetDownloadUrlForLayer ecr:BatchGetImage "
         "logs:CreateLogStream logs:PutLogEvents"},
        {"ecs:TagResource", "*", "ecs:CreateAction", "CreateCluster RegisterContainerInstance"}}},
      {kServiceRole,
       "AmazonEC2SpotFleetTaggingRole",
       {{"ec2:DescribeImages ec2:DescribeSubnets ec2:RequestSpotInstances ec2:TerminateInstances "
         "ec2:DescribeInstanceStatus ec2:CreateTags ec2:RunInstances"},
        {"iam:PassRole", "*", "iam:PassedToService", "ec2.amazonaws.com ec2.amazonaws.com.cn"},
        {"elasticloadbalancing:RegisterInstancesWithLoadBalancer", "arn:aws:elasticloadbalancing:*:*:loadbalancer/*"},
        {"elasticloadbalancing:RegisterTargets", "arn:aws:elasticloadbalancing:*:*:*/*"}}},
      {kServiceRole,
       "AmazonECSTaskExecutionRolePolicy",
       {{"ecr:GetAuthorizationToken ecr:BatchCheckLayerAvailability ecr:GetDownloadUrlForLayer ecr:BatchGetImage "
         "logs:CreateLogStream logs:PutLogEvents"}}},
      {kRoot, "AmazonS3FullAccess", {{"s3:* s3-object-lambda:*"}}},
      {kRoot,
       "AmazonS3ReadOnlyAccess",
       {{"s3:Get* s3:List* s3:Describe* s3-object-lambda:Get* s3-object-lambda:List*"}}},
      {kRoot, "AmazonSQSFullAccess", {{"sqs:*"}}},
      {kRoot,
       "AmazonSQSReadOnlyAccess",
       {{"sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ListDeadLetterSourceQueues sqs:ListQueues "
         "sqs:ListMessageMoveTasks sqs:ListQueueTags"}}},
      {kRoot, "CloudWatchLogsFullAccess", {{"logs:* cloudwatch:GenerateQuery"}}},
      {kRoot,
       "CloudWatchLogsReadOnlyAccess",
       {{"logs:Describe* logs:Get* logs:List* logs:StartQuery logs:StopQuery logs:TestMetricFilter "
         "logs:FilterLogEvents logs:StartLiveTail logs:StopLiveTail cloudwatch:GenerateQuery"}}},
      {kRoot,
       "PowerUserAccess",
       {{.actions = "iam:* organizations:* account:*", .listing = Listing::all_but_these},
        {"iam:CreateServiceLinkedRole iam:DeleteServiceLinkedRole iam:ListRoles organizations:DescribeOrganization "
         "account:ListRegions account:GetAccountInformation"}}},
      {kRoot,
       "ReadOnlyAccess",
       {{"autoscaling:Describe* batch:Describe* batch:List* cloudwatch:Describe* cloudwatch:Get* cloudwatch:List* "
         "ec2:Describe* ec2:Get* ecr:BatchCheck* ecr:BatchGet* ecr:Describe* ecr:Get* ecr:List* ecs:Describe* "
         "ecs:List* elasticloadbalancing:Describe* events:Describe* events:List* events:TestEventPattern "
         "iam:Generate* iam:Get* iam:List* iam:Simulate* logs:Describe* logs:FilterLogEvents logs:Get* logs:List* "
         "logs:StartQuery logs:StopQuery logs:TestMetricFilter s3:DescribeJob s3:Get* s3:List* sqs:Get* sqs:List* "
         "sqs:Receive* sts:GetAccessKeyInfo sts:GetCallerIdentity sts:GetSessionToken"}}},
  };
}

Node text_node(std::string_view text) {
  return {.kind = Node::Kind::text, .quoted = true, .text = std::string(text)};
}

Node object_node(std::string_view name, Node value) {
  Node node{.kind = Node::Kind::object};
  node.fields.push_back({std::string(name), {}, std::move(value)});
  return node;
}

/// A list of the words; a single one by itself.
Node words_node(std::string_view words) {
  Node list{.kind = Node::Kind::list};
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    list.items.push_back(text_node(words.substr(0, end)));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return list.items.size() == 1 ? list.items.front() : list;
}

Node statement_node(const GrantedActions& granted) {
  Node statement = object_node("Effect", text_node("Allow"));
  const auto add = [&](std::string_view name, Node value) {
    statement.fields.push_back({std::string(name), {}, std::move(value)});
  };
  add(granted.listing == Listing::only_these ? "Action" : "NotAction", words_node(granted.actions));
  add("Resource", words_node(granted.resources));
  if (!granted.key.empty()) {
    add("Condition", object_node("StringEquals", object_node(granted.key, words_node(granted.values))));
  }
  return statement;
}

ManagedPolicy managed_policy(const ManagedEntry& entry) {
  Node statements{.kind = Node::Kind::list};
  for (const GrantedActions& granted : entry.statements) statements.items.push_back(statement_node(granted));
  Node root = object_node("Version", text_node("2012-10-17"));
  root.fields.push_back({"Statement", {}, std::move(statements)});
  std::string json = node_to_json(root);
  auto document = policy_from_json(json, PolicyKind::identity);
  DROVER_CHECK(document.has_value(), "a managed policy is a valid policy");
  return {std::string(entry.name), std::string(entry.path), concat("arn:aws:iam::aws:policy", entry.path, entry.name),
          std::move(json), std::move(*document)};
}

}  // namespace

const std::vector<ManagedPolicy>& managed_policies() {
  static const std::vector<ManagedPolicy> policies = [] {
    std::vector<ManagedPolicy> all;
    for (const ManagedEntry& entry : managed_entries()) all.push_back(managed_policy(entry));
    return all;
  }();
  return policies;
}

const ManagedPolicy* find_managed_policy(std::string_view arn) {
  const auto found = std::ranges::find(managed_policies(), arn, &ManagedPolicy::arn);
  return found == managed_policies().end() ? nullptr : &*found;
}

}  // namespace drover::aws
